import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { FileUpdate } from '@treadle/core/permissions';

import { isAbsolute, join, resolve } from 'node:path';

import type { CliIo } from '../../cli/io.ts';
import { UsageError } from '../../cli/usage-error.ts';
import { withPermissionUpdate, writeBelow, type FileWords } from '../../settings/save.ts';
import { readSettingsFile } from '../../settings/settings.ts';
import { alone, writeWhole } from '../../settings/trust.ts';
import type { SettingSource } from '../options.ts';
import { wireMode, wireRuleText } from '../wire/permissions.ts';
import { ownRule } from '../wire/rule-paths.ts';
import { ownName } from '../wire/tools.ts';
import { readClaudeSettings, settingsObject } from './claude-settings.ts';
import { claudeFolder, type Sources } from './sources.ts';

const FILES = {
  userSettings: { source: 'user', name: 'settings.json' },
  projectSettings: { source: 'project', name: '.claude/settings.json' },
  localSettings: { source: 'local', name: '.claude/settings.local.json' },
} as const satisfies Record<FileUpdate['destination'], { source: SettingSource; name: string }>;

/**
 * Keeps updates of permissions in the settings files of `.claude`, as far as the session reads them. A folder's file is
 * only added to while it is one that is trusted, or that was written here: nothing else in it may begin to act by that.
 */
export const claudeSettingsSaver =
  ({
    io,
    folder: base,
    sources: { found },
    wanted,
  }: {
    readonly io: Pick<CliIo, 'env'>;
    /** Where paths in a folder's rules begin. */
    readonly folder: string;
    readonly sources: Pick<Sources, 'found'>;
    readonly wanted: readonly SettingSource[];
  }) =>
  async (update: FileUpdate): Promise<void> => {
    const { source, name } = FILES[update.destination];
    const words = (from: string): FileWords => wordsOf(from, io.env['HOME']);
    if (!wanted.includes(source)) throw new UsageError(`--setting-sources has no ${source}, so it would not be read`);
    if (update.type === 'setMode' && update.mode === 'bypass')
      throw new UsageError('the mode bypassPermissions is kept in no file');
    if (source === 'user') {
      const folder = claudeFolder(io);
      if (folder === null) throw new UsageError('there is no home folder to keep settings in');
      const path = join(folder, name);
      return alone(folder, async () =>
        writeWhole(path, updated((await readSettingsFile(path))?.text ?? '', path, update, words(folder))),
      );
    }
    return found.trust.update(found.folder, async (record) => {
      const file = await readSettingsFile(join(found.folder, name));
      if (file !== null && file.digest !== record?.others?.[name])
        throw new UsageError(`${name} has settings that nobody trusted. Look at it, and run treadle run --trust`);
      const digest = await writeBelow(found.folder, name, updated(file?.text ?? '', name, update, words(base)));
      const known = {
        trusted: record?.trusted ?? false,
        project: record?.project ?? null,
        local: record?.local ?? null,
      };
      return { ...record, ...known, others: { ...record?.others, [name]: digest } };
    });
  };

/** A file's text with an update in it; what else it says is kept. */
function updated(text: string, where: string, update: FileUpdate, words: FileWords): string {
  const settings = settingsObject(text, where);
  // Says clearly what is wrong with a file that can't be added to.
  readClaudeSettings(settings, where, () => {});
  const { permissions } = settings;
  const before = isJsonObject(permissions) ? permissions : {};
  return `${JSON.stringify({ ...settings, permissions: withUpdate(before, update, words) }, null, 2)}\n`;
}

function withUpdate(permissions: JsonObject, update: FileUpdate, words: FileWords): JsonObject {
  if (update.type === 'setMode') return { ...permissions, defaultMode: wireMode(update.mode) };
  return withPermissionUpdate(permissions, update, words);
}

/** @param base where paths in the file begin */
const wordsOf = (base: string, home: string | undefined): FileWords => ({
  written: wireRuleText,
  meant: (rule) => ownRule(rule.trim(), { base, home }).replace(/^[^(]+/, ownName),
  folder: (path) => absolute(path, base, home),
});

/** A folder that a settings file names. */
export function absolute(path: string, base: string, home: string | undefined): string {
  if (path.startsWith('~/') && home) return join(home, path.slice(2));
  return isAbsolute(path) ? path : resolve(base, path);
}
