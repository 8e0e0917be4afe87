import type { CanUseTool, PermissionMode, PermissionOptions } from '@treadle/core';
import { isStricter } from '@treadle/core/events';

import { resolve } from 'node:path';

import type { SdkParts } from './parts.ts';
import { askClient } from '../client/permission-callback.ts';
import { UsageError } from '../../cli/usage-error.ts';
import { checkedRules } from './rules.ts';
import { absolute, claudeSettingsSaver } from '../settings/save.ts';
import type { ActingSettings } from '../settings/sources.ts';

/** What the session may do: by the flags, by the settings that act, and by what the client says when it is asked. */
export function permissionsFor(
  {
    folder,
    options,
    io,
    note,
    channel,
    sessionId,
    sources,
  }: Pick<SdkParts, 'folder' | 'options' | 'io' | 'note' | 'channel' | 'sessionId' | 'sources'>,
  tools: readonly string[],
  directories: readonly string[],
): PermissionOptions {
  const home = io.env['HOME'];
  const { settings } = sources;
  const flags = { source: 'cliArg', tools, note } as const;
  const place = { base: folder, home };
  return {
    mode: options.mode ?? modeOf(settings),
    allowBypass: options.mayBypass,
    settings: [
      checkedRules({ allow: options.allowed }, place, { ...flags, where: 'allowedTools' }),
      checkedRules({ deny: options.disallowed }, place, { ...flags, where: 'disallowedTools' }),
      ...settings.map(({ rules, source, where, mayAllow, base }) =>
        checkedRules(
          { ...rules, allow: mayAllow ? (rules.allow ?? []) : [] },
          { base, home },
          { ...flags, source, where },
        ),
      ),
    ],
    directories,
    canUseTool: options.asksClient ? askClient({ channel, folder, sessionId, place }) : nobody,
    saveUpdate: claudeSettingsSaver({ io, folder, sources, wanted: options.sources }),
  };
}

/** More folders that the tools work in, by the flags and by the settings that may allow something. */
export const moreFolders = ({
  folder,
  options,
  io,
  sources,
}: Pick<SdkParts, 'folder' | 'options' | 'io' | 'sources'>): readonly string[] => [
  ...options.directories.map((path) => resolve(folder, path)),
  ...sources.settings.flatMap(({ directories, mayAllow, base }) =>
    mayAllow ? directories.map((path) => absolute(path, base, io.env['HOME'])) : [],
  ),
];

/**
 * The last mode that the client or the user names, or what a folder's files make stricter of the one before.
 *
 * @throws UsageError for the mode that needs a flag.
 */
export function modeOf(settings: readonly ActingSettings[]): PermissionMode {
  let mode: PermissionMode = 'default';
  for (const { mode: said, mayAllow, where } of settings) {
    if (said === 'bypass')
      throw new UsageError(`${where}: the mode bypassPermissions is only for --permission-mode, where it is seen.`);
    if (said !== undefined && (mayAllow || isStricter(said, mode))) mode = said;
  }
  return mode;
}

const nobody: CanUseTool = () => ({
  behavior: 'deny',
  message: 'Nobody can be asked: the client has no permission callback. Allow the tool by a rule of allowedTools.',
});
