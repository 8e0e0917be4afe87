import type { JsonObject } from '@treadle/core';
import { parseJson } from '@treadle/core/json';
import { builtInToolName } from '@treadle/core/names';
import type { FileUpdate } from '@treadle/core/permissions';

import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type { CliIo } from '../cli/io.ts';
import { UsageError } from '../cli/usage-error.ts';
import type { FolderSettings } from './combine.ts';
import {
  configFolder,
  homeInRule,
  LOCAL_SETTINGS,
  parseSettings,
  PROJECT_SETTINGS,
  readSettingsFile,
} from './settings.ts';
import { alone, writeWhole, type TrustRecord } from './trust.ts';

/**
 * Keeps updates in settings files, one after the other. A folder's local file is only added to while it is one that is
 * trusted, or that we wrote ourselves: nothing else in it may begin to act by being kept beside ours.
 */
export function settingsSaver(
  folder: Pick<FolderSettings, 'folder' | 'trust'>,
  io: Pick<CliIo, 'env' | 'cwd'>,
): (update: FileUpdate) => Promise<void> {
  let before: Promise<void> = Promise.resolve();
  return (update) => {
    const saved = before.then(() => save(folder, io, update));
    before = saved.catch(() => {});
    return saved;
  };
}

async function save(
  { folder, trust }: Pick<FolderSettings, 'folder' | 'trust'>,
  io: Pick<CliIo, 'env' | 'cwd'>,
  update: FileUpdate,
): Promise<void> {
  if (update.destination === 'userSettings') {
    const config = configFolder(io);
    if (config === null) throw new UsageError('there is no home folder to keep settings in');
    const path = join(config, 'settings.json');
    await alone(config, async () =>
      writeWhole(path, updated((await readSettingsFile(path))?.text ?? '{}', path, update, io.env['HOME'])),
    );
    return;
  }
  await trust.update(folder, (record) => saveInFolder(folder, record, update, io.env['HOME']));
}

/** Adds to a folder's own file; what is known of it then. */
async function saveInFolder(
  folder: string,
  record: TrustRecord | null,
  update: FileUpdate,
  home: string | undefined,
): Promise<TrustRecord> {
  const name = update.destination === 'projectSettings' ? PROJECT_SETTINGS : LOCAL_SETTINGS;
  const path = join(folder, name);
  const file = await readSettingsFile(path);
  const which = update.destination === 'projectSettings' ? 'project' : 'local';
  if (file !== null && file.digest !== record?.[which]) {
    throw new UsageError(`${name} has other settings that nobody trusted. Look at it, and say --trust`);
  }
  const digest = await writeBelow(folder, name, updated(file?.text ?? '{}', path, update, home));
  if (file === null && which === 'local') await ignoreLocal(folder);
  const known = { trusted: record?.trusted ?? false, project: record?.project ?? null, local: record?.local ?? null };
  return { ...record, ...known, [which]: digest };
}

/** A person's own rules are no part of the project: Git leaves their file alone. */
async function ignoreLocal(folder: string): Promise<void> {
  const name = join(dirname(LOCAL_SETTINGS), '.gitignore');
  // Also a link that leads nowhere is somebody's.
  if (lstatSync(join(folder, name), { throwIfNoEntry: false })) return;
  // The rule is kept, whatever comes of this.
  await writeBelow(folder, name, `${basename(LOCAL_SETTINGS)}\n.gitignore\n`).catch(() => {});
}

/** Writes a file of a folder; returns its digest. */
export async function writeBelow(folder: string, name: string, text: string): Promise<string> {
  const { openRoot } = await import('@treadle/tools');
  // By the root: a link in the folder must not lead the write elsewhere.
  await openRoot(folder).update(name, () => Buffer.from(text), {
    create: true,
    signal: new AbortController().signal,
  });
  return createHash('sha256').update(text).digest('hex');
}

/** A file's text with an update in it; what else it says is kept. */
function updated(text: string, path: string, update: FileUpdate, home: string | undefined): string {
  // Says clearly what is wrong with a file that can't be added to.
  parseSettings({ path, text }, home);
  const settings = parseJson(text === '' ? '{}' : text) as JsonObject;
  const permissions = (settings['permissions'] ?? {}) as JsonObject;
  const inHome = (folder: string): string => (folder.startsWith('~/') && home ? join(home, folder.slice(2)) : folder);
  const words = { written: same, meant: (rule: string) => homeInRule(rule, home), folder: inHome };
  return `${JSON.stringify({ ...settings, permissions: withPermissionUpdate(permissions, update, words) }, null, 2)}\n`;
}

const same = (rule: string): string => rule;

/** How a settings file says what an update says. */
export interface FileWords {
  /** A rule of an update as the file has it. */
  written(rule: string): string;
  /** A rule of the file as an update has it. */
  meant(rule: string): string;
  /** A folder of the file as an update has it. */
  folder(path: string): string;
}

/**
 * What a settings file says of permissions, with an update in it.
 *
 * @throws UsageError for a removal of what isn't there: it would seem to be done, and something like it would still act.
 */
export function withPermissionUpdate(permissions: JsonObject, update: FileUpdate, words: FileWords): JsonObject {
  if (update.type === 'setMode') return { ...permissions, mode: update.mode };
  if ('directories' in update) {
    const before = (permissions['additionalDirectories'] ?? []) as readonly string[];
    const { directories, type } = update;
    const kind = 'folder';
    const lists = { before, meant: words.folder, asked: directories, kind };
    return { ...permissions, additionalDirectories: type === 'addDirectories' ? added(lists, same) : without(lists) };
  }
  const before = (permissions[update.behavior] ?? []) as readonly (string | { readonly rule: string })[];
  const meant = (rule: string | { readonly rule: string }): string =>
    withOwnName(words.meant(typeof rule === 'string' ? rule : rule.rule));
  const lists = { before, meant, asked: update.rules.map(withOwnName), kind: `rule of ${update.behavior}` };
  const rules = { addRules: added, replaceRules: replaced, removeRules: without }[update.type];
  return { ...permissions, [update.behavior]: rules(lists, words.written) };
}

interface Lists<Item> {
  readonly before: readonly Item[];
  meant(item: Item): string;
  readonly asked: readonly string[];
  /** What the items are, for a message. */
  readonly kind: string;
}

function added<Item>({ before, meant, asked }: Lists<Item>, written: FileWords['written']): (Item | string)[] {
  const there = new Set(before.map(meant));
  return [...before, ...asked.filter((item) => !there.has(item)).map(written)];
}

const replaced = ({ asked }: Lists<unknown>, written: FileWords['written']): string[] => asked.map(written);

function without<Item>({ before, meant, asked, kind }: Lists<Item>): Item[] {
  const there = new Set(before.map(meant));
  const missing = asked.filter((item) => !there.has(item));
  if (missing.length > 0) throw new UsageError(`there is no ${kind} ${missing.join(', ')} to remove`);
  return before.filter((item) => !asked.includes(meant(item)));
}

/** `Bash(make)` and `bash(make)` are one rule. */
const withOwnName = (rule: string): string => rule.trim().replace(/^[^(]+/, builtInToolName);
