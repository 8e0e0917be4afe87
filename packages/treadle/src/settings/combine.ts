import type { PermissionMode } from '@treadle/core';
import { isStricter } from '@treadle/core/events';
import type { PermissionSettings } from '@treadle/core/permissions';

import { join } from 'node:path';

import type { CliIo } from '../cli/io.ts';
import { UsageError } from '../cli/usage-error.ts';
import {
  configFolder,
  LOCAL_SETTINGS,
  parseSettings,
  PROJECT_SETTINGS,
  readSettingsFile,
  type SandboxSetting,
  type Settings,
  type SettingsFile,
} from './settings.ts';
import type { Pins, Unpinned } from './pinned-folders.ts';
import { openTrust, type TrustRecord, type TrustStore } from './trust.ts';

/** The settings of the user and of a folder, as far as they act. */
export type CombinedSettings = Awaited<ReturnType<typeof combineSettings>>;

/**
 * The environment with the variables that the user's own settings add, and the keys that `treadle login` keeps; what is set
 * already stays as it is.
 */
export async function withUserVariables(io: Pick<CliIo, 'env' | 'cwd'>): Promise<CliIo['env']> {
  const { loginVariables, readLogin } = await import('./login-file.ts');
  const [user, login] = await Promise.all([userSettings(io), readLogin(io)]);
  const env = { ...user?.settings.env, ...io.env };
  const isSet = ([, value]: readonly [string, unknown]): boolean => value !== undefined && value !== '';
  return { ...env, ...loginVariables(login, env), ...Object.fromEntries(Object.entries(env).filter(isSet)) };
}

async function userSettings(
  io: Pick<CliIo, 'env' | 'cwd'>,
  tools?: readonly string[],
): Promise<{ readonly path: string; readonly settings: Settings } | null> {
  const config = configFolder(io);
  const file = config === null ? null : await readSettingsFile(join(config, 'settings.json'));
  return file && { path: file.path, settings: parseSettings(file, io.env['HOME'], tools) };
}

/** A settings file of Claude Code that a folder has. */
export type ClaudeSettingsFile = Awaited<ReturnType<typeof claudeSettingsOf>>[number];

/** What a folder has that acts, read once: what is asked about is what is trusted, and what is compared later. */
export interface FolderSettings {
  /** The real path. */
  readonly folder: string;
  readonly project: SettingsFile | null;
  readonly local: SettingsFile | null;
  readonly trust: TrustStore;
  /** Of its own settings. `changed`: trusted once, but a file is another since. */
  readonly state: 'none' | 'untrusted' | 'changed' | 'trusted';
  readonly claude: readonly ClaudeSettingsFile[];
  /** Of its settings files of Claude Code, and of its folders with instructions. */
  readonly pins: Pins;
  /** Its folders with instructions that are not as they were trusted. */
  readonly unpinned: readonly Unpinned[];
  /** Whether the folder as a whole is trusted: with these settings, and these skills, commands and agents. */
  readonly isTrusted: boolean;
}

/** Looks what a folder has that acts, and whether it may. Nothing is read as anything but bytes. */
export async function findFolderSettings(folder: string, io: Pick<CliIo, 'env' | 'cwd'>): Promise<FolderSettings> {
  const trust = await openTrust(configFolder(io));
  const record = trust.get(folder);
  const project = await readSettingsFile(join(folder, PROJECT_SETTINGS));
  const local = await readSettingsFile(join(folder, LOCAL_SETTINGS));
  const state = stateOf(record, project, local);
  const claude = await claudeSettingsOf(folder);
  // Loaded on use: many commands ask for no folder.
  const { instructionPins, unpinnedOf } = await import('./pinned-folders.ts');
  const files = claude.map(({ name, file }) => [name, file?.digest ?? null] as const);
  const pins = { ...Object.fromEntries(files), ...(await instructionPins(folder)) };
  const unpinned = unpinnedOf(folder, { pins, trusted: record?.others ?? {}, io });
  const isSame = state !== 'changed' && unpinned.every(({ kind }) => kind === 'output styles');
  return {
    folder,
    project,
    local,
    trust,
    state,
    claude,
    pins,
    unpinned,
    isTrusted: record?.trusted === true && isSame,
  };
}

function stateOf(
  record: TrustRecord | null,
  project: SettingsFile | null,
  local: SettingsFile | null,
): FolderSettings['state'] {
  if (project === null && local === null) return 'none';
  const isOurs = (record?.local ?? null) === (local?.digest ?? null);
  // Nothing but what we wrote there ourselves, on the user's word.
  if (record && project === null && isOurs) return 'trusted';
  if (record?.trusted !== true) return 'untrusted';
  return isOurs && record.project === (project?.digest ?? null) ? 'trusted' : 'changed';
}

/** The settings files of Claude Code that a folder has. Only the clients of the Claude Agent SDK have them read. */
async function claudeSettingsOf(folder: string) {
  const kinds = [
    { kind: 'project', name: '.claude/settings.json' },
    { kind: 'local', name: '.claude/settings.local.json' },
  ] as const;
  const files = await Promise.all(
    kinds.map(async (kind) => {
      try {
        const file = await readSettingsFile(join(folder, kind.name));
        return file && { ...kind, file, problem: null };
      } catch (problem) {
        // Most commands don't need it.
        return { ...kind, file: null, problem };
      }
    }),
  );
  return files.filter((file) => file !== null);
}

/** Records that a folder is trusted, with what it had when it was looked at. */
export async function trustFolder(settings: FolderSettings): Promise<FolderSettings> {
  const { folder, project, local, trust, pins } = settings;
  const others = Object.entries(pins).filter((entry): entry is [string, string] => entry[1] !== null);
  await trust.set(folder, {
    trusted: true,
    project: project?.digest ?? null,
    local: local?.digest ?? null,
    ...(others.length === 0 ? {} : { others: Object.fromEntries(others) }),
  });
  return { ...settings, state: project === null && local === null ? 'none' : 'trusted', isTrusted: true };
}

/**
 * Puts together what acts. The user's settings act as they are. A folder's act once it is trusted, and may tighten: deny
 * rules, ask rules, a stricter mode. What a project allows, and its variables, never act. Hooks, and what the user's own
 * local file allows, act while the files are those that were trusted.
 *
 * @param tools names of the tools that rules may be about
 * @throws UsageError for a file that acts and can't be understood.
 */
export async function combineSettings(
  found: FolderSettings,
  io: Pick<CliIo, 'env' | 'cwd'>,
  note: (text: string) => void,
  tools: readonly string[],
) {
  const home = io.env['HOME'];
  const own = await userSettings(io, tools);
  const user = own?.settings;
  if (user?.permissions.mode === 'bypass') {
    throw new UsageError(`${own?.path}: the mode bypass is only for --permission-mode, where it is seen.`);
  }
  const isTrusted = found.state === 'trusted';
  const acts = isTrusted || found.state === 'changed';
  const project = acts && found.project ? parseSettings(found.project, home, tools) : null;
  const local = acts && found.local ? parseSettings(found.local, home, tools) : null;
  if (project) sayWhatIsLeftOut(project, note);
  const modes = [project?.permissions.mode, local?.permissions.mode];
  return {
    permissions: {
      settings: [
        ...(user ? [rulesOf(user, 'userSettings', true)] : []),
        ...(project ? [rulesOf(project, 'projectSettings', false)] : []),
        ...(local ? [rulesOf(local, 'localSettings', isTrusted)] : []),
      ],
      directories: [
        ...(user?.permissions.additionalDirectories ?? []),
        ...(local && isTrusted ? local.permissions.additionalDirectories : []),
      ],
    },
    /** What the strictest of them says; undefined when none says anything. */
    mode: strictest(user?.permissions.mode, modes),
    /** Whether `web_fetch` is among the tools: the user's own files may say so, and any file may say no. */
    web: hasWeb(user, project, isTrusted ? local : { web: local?.web === false ? false : undefined }),
    /** The sandbox of commands; undefined when no file says anything of it. */
    sandbox: strictestSandbox(user?.sandbox, [project?.sandbox, local?.sandbox]),
    /** Hooks with where they come from, the user's first. */
    hooks: [
      ...(own?.settings.hooks ? [{ source: own.path, hooks: own.settings.hooks }] : []),
      ...(isTrusted && project?.hooks ? [{ source: PROJECT_SETTINGS, hooks: project.hooks }] : []),
      ...(isTrusted && local?.hooks ? [{ source: LOCAL_SETTINGS, hooks: local.hooks }] : []),
    ],
  };
}

const SANDBOX_MODES = ['off', 'workspace-write', 'read-only'] as const;

/** The user's own, with what a folder's files make stricter of it. What they would loosen stays as it is. */
function strictestSandbox(
  user: SandboxSetting | undefined,
  others: readonly (SandboxSetting | undefined)[],
): SandboxSetting | undefined {
  const said = others.filter((other) => other !== undefined);
  if (said.length === 0) return user;
  const level = (mode: SandboxSetting['mode']): number => SANDBOX_MODES.indexOf(mode ?? 'workspace-write');
  const own = user?.mode ?? 'workspace-write';
  const mode = said.reduce((strict, { mode = strict }) => (level(mode) > level(strict) ? mode : strict), own);
  const isClosed = said.some(({ network }) => network === 'none');
  const asks = said.some(({ sufficient }) => sufficient === false);
  return {
    // Whoever says that there must be a sandbox doesn't get none.
    mode: mode === 'off' && said.some(({ required }) => required === true) ? 'workspace-write' : mode,
    required: user?.required === true || said.some(({ required }) => required === true),
    network: isClosed ? 'none' : (user?.network ?? 'none'),
    sufficient: !asks && user?.sufficient === true,
  };
}

type WebSetting = { readonly web?: boolean | undefined } | null | undefined;

/** Any file may say no. Yes is for the user's own: a project can only tighten. */
function hasWeb(user: WebSetting, project: WebSetting, local: WebSetting): boolean {
  if (project?.web === false || local?.web === false) return false;
  return user?.web === true || local?.web === true;
}

function rulesOf(
  { permissions }: Settings,
  source: 'userSettings' | 'projectSettings' | 'localSettings',
  mayAllow: boolean,
): PermissionSettings {
  const { allow, ask, deny } = permissions;
  return { source, ask, deny, ...(mayAllow ? { allow } : {}) };
}

/** The base, or what is stricter than it: a folder can only tighten. */
function strictest(
  base: PermissionMode | undefined,
  others: readonly (PermissionMode | undefined)[],
): PermissionMode | undefined {
  let mode = base;
  for (const other of others) if (other !== undefined && isStricter(other, mode ?? 'default')) mode = other;
  return mode;
}

function sayWhatIsLeftOut({ permissions, env, web, sandbox }: Settings, note: (text: string) => void): void {
  const left = [
    ...(permissions.allow.length > 0 ? ['permissions.allow'] : []),
    ...(permissions.additionalDirectories.length > 0 ? ['permissions.additionalDirectories'] : []),
    ...(Object.keys(env).length > 0 ? ['env'] : []),
    ...(web === true ? ['web'] : []),
    ...(sandbox?.mode === 'off' ? ['sandbox.mode'] : []),
    ...(sandbox?.network === 'host' ? ['sandbox.network'] : []),
    ...(sandbox?.sufficient === true ? ['sandbox.sufficient'] : []),
  ];
  if (left.length === 0) return;
  note(`${PROJECT_SETTINGS}: ${left.join(', ')} left out. A project may tighten what is allowed, and never loosen it.`);
}
