import { commandFolders, skillFolders } from '@treadle/skills';

import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';

import type { CliIo } from '../../cli/io.ts';
import { claudeSettingsOf, findFolderSettings, type FolderSettings } from '../../settings/combine.ts';
import { instructionDigests, instructionFolders } from '../../settings/pinned-folders.ts';
import { readSettingsFile } from '../../settings/settings.ts';
import type { GivenSettings, SettingSource } from '../options.ts';
import { readClaudeSettings, settingsObject, type ClaudeSettings } from './claude-settings.ts';

/** Settings that act, and how far. */
export interface ActingSettings extends ClaudeSettings {
  readonly source: 'userSettings' | 'projectSettings' | 'localSettings' | 'cliArg';
  /** Whether what it allows counts: a project may tighten, and never loosen. */
  readonly mayAllow: boolean;
  /** Whether its hooks run. */
  readonly mayRun: boolean;
  /** Where its paths begin. */
  readonly base: string;
}

/** What is read of `.claude` for a session. */
export interface Sources {
  readonly settings: readonly ActingSettings[];
  /** Folders with files of agents, and of output styles. */
  readonly agents: readonly string[];
  readonly styles: readonly string[];
  readonly skills: ReturnType<typeof skillFolders>;
  readonly commands: ReturnType<typeof commandFolders>;
  readonly isTrusted: boolean;
  readonly found: FolderSettings;
}

/** The user's folder: `CLAUDE_CONFIG_DIR`, else `.claude` in the home folder. Null without a home. */
export function claudeFolder({ env }: Pick<CliIo, 'env'>): string | null {
  const { CLAUDE_CONFIG_DIR: own, HOME: home } = env;
  return own || (home ? join(home, '.claude') : null);
}

/** The environment, with what settings add to it; what is set already stays as it is. */
export function withVariables(env: CliIo['env'], settings: readonly ActingSettings[]): CliIo['env'] {
  const added = settings.flatMap(({ mayAllow, env: own }) => (mayAllow ? Object.entries(own) : []));
  return { ...Object.fromEntries(added), ...env };
}

/**
 * Reads the settings that a client wants read. Those of a folder act once the folder is trusted (`treadle run --trust`);
 * its hooks, what the user's own local file allows, its agents, skills, commands and output styles, while the files are those
 * that were trusted.
 *
 * @throws UsageError for a file that acts and can't be understood.
 */
export async function readSources(
  folder: string,
  io: Pick<CliIo, 'env' | 'cwd'>,
  {
    sources,
    given,
    root = folder,
    note,
  }: {
    readonly sources: readonly SettingSource[];
    readonly given: readonly GivenSettings[];
    /** Whose `.claude` is the project's: that of another checkout of it, for one in `folder` that nobody trusts. */
    readonly root?: string | undefined;
    readonly note: (text: string) => void;
  },
): Promise<Sources> {
  const found = await findFolderSettings(root, io);
  const record = found.trust.get(root);
  const isTrusted = record?.trusted === true;
  const user = claudeFolder(io);
  const settings: ActingSettings[] = given.map(({ where, settings: value }) => ({
    ...readClaudeSettings(value, where, note),
    source: 'cliArg',
    mayAllow: true,
    mayRun: true,
    base: folder,
  }));
  if (sources.includes('user') && user !== null) {
    const path = join(user, 'settings.json');
    const file = await readSettingsFile(path);
    const all = { source: 'userSettings', mayAllow: true, mayRun: true, base: user } as const;
    if (file) settings.push({ ...readClaudeSettings(settingsObject(file.text, path), path, note), ...all });
  }
  for (const file of await claudeSettingsOf(root)) {
    if (!sources.includes(file.kind)) continue;
    const isSame = record?.others?.[file.name] === file.digest;
    // One that was written here on the user's word acts by itself.
    if (!isTrusted && !isSame) {
      note(`${file.name} left alone: nobody has trusted this folder. treadle run --trust does.`);
      continue;
    }
    if (!isSame) note(`${file.name} changed since this folder was trusted: only what denies and asks acts.`);
    settings.push({
      ...readClaudeSettings(settingsObject(file.text, file.path), file.path, note),
      source: file.kind === 'project' ? 'projectSettings' : 'localSettings',
      mayAllow: file.kind === 'local' && isSame,
      mayRun: isSame,
      base: folder,
    });
  }
  const isPinned =
    sources.includes('project') && isTrusted ? await pinnedIn(root, record.others ?? {}, note) : () => false;
  const users = sources.includes('user');
  const home = io.env['HOME'];
  const below = (name: string): string[] => [
    ...(users && user !== null ? [join(user, name)] : []),
    ...(isPinned(join(root, '.claude', name)) ? [join(root, '.claude', name)] : []),
  ];
  const places = { ...(users && home ? { home } : {}), project: root };
  const acts = ({ path, source }: { readonly path: string; readonly source?: unknown }): boolean =>
    source !== 'project' || isPinned(path);
  return {
    settings,
    agents: below('agents'),
    styles: below('output-styles'),
    skills: skillFolders(places).filter(acts),
    commands: commandFolders(places).filter(acts),
    isTrusted,
    found,
  };
}

/** Which folders with instructions are as they were when the project was trusted. One that isn't is left alone, and that is said. */
async function pinnedIn(
  root: string,
  trusted: Readonly<Record<string, string>>,
  note: (text: string) => void,
): Promise<(path: string) => boolean> {
  const now = await instructionDigests(root);
  for (const name of instructionFolders(root)) {
    if (now[name] === trusted[name] || !existsSync(join(root, name))) continue;
    note(`${name} left alone: it changed since this folder was trusted. treadle run --trust trusts it as it is now.`);
  }
  return (path) => {
    const digest = now[relative(root, path)];
    return digest !== undefined && digest === trusted[relative(root, path)];
  };
}
