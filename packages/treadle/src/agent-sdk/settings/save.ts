import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { FileUpdate } from '@treadle/core/permissions';

import { join } from 'node:path';

import type { CliIo } from '../../cli/io.ts';
import { UsageError } from '../../cli/usage-error.ts';
import { withPermissionUpdate, writeBelow } from '../../settings/save.ts';
import { readSettingsFile } from '../../settings/settings.ts';
import { alone, writeWhole } from '../../settings/trust.ts';
import type { SettingSource } from '../options.ts';
import { wireMode, wireRuleText } from '../wire/permissions.ts';
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
    sources: { found },
    wanted,
  }: {
    readonly io: Pick<CliIo, 'env'>;
    readonly sources: Pick<Sources, 'found'>;
    readonly wanted: readonly SettingSource[];
  }) =>
  async (update: FileUpdate): Promise<void> => {
    const { source, name } = FILES[update.destination];
    if (!wanted.includes(source)) throw new UsageError(`--setting-sources has no ${source}, so it would not be read`);
    if (update.type === 'setMode' && update.mode === 'bypass')
      throw new UsageError('the mode bypassPermissions is kept in no file');
    if (source === 'user') {
      const folder = claudeFolder(io);
      if (folder === null) throw new UsageError('there is no home folder to keep settings in');
      const path = join(folder, name);
      return alone(folder, async () =>
        writeWhole(path, updated((await readSettingsFile(path))?.text ?? '', path, update)),
      );
    }
    return found.trust.update(found.folder, async (record) => {
      const file = await readSettingsFile(join(found.folder, name));
      if (file !== null && file.digest !== record?.others?.[name])
        throw new UsageError(`${name} has settings that nobody trusted. Look at it, and run treadle run --trust`);
      const digest = await writeBelow(found.folder, name, updated(file?.text ?? '', name, update));
      const known = {
        trusted: record?.trusted ?? false,
        project: record?.project ?? null,
        local: record?.local ?? null,
      };
      return { ...record, ...known, others: { ...record?.others, [name]: digest } };
    });
  };

/** A file's text with an update in it; what else it says is kept. */
function updated(text: string, where: string, update: FileUpdate): string {
  const settings = settingsObject(text, where);
  // Says clearly what is wrong with a file that can't be added to.
  readClaudeSettings(settings, where, () => {});
  const { permissions } = settings;
  const before = isJsonObject(permissions) ? permissions : {};
  return `${JSON.stringify({ ...settings, permissions: withUpdate(before, update) }, null, 2)}\n`;
}

function withUpdate(permissions: JsonObject, update: FileUpdate): JsonObject {
  if (update.type === 'setMode') return { ...permissions, defaultMode: wireMode(update.mode) };
  if (!('rules' in update)) return withPermissionUpdate(permissions, update);
  return withPermissionUpdate(permissions, { ...update, rules: update.rules.map(wireRuleText) });
}
