import type { JsonObject } from '@treadle/core';
import { parseJson } from '@treadle/core/json';
import type { FileUpdate } from '@treadle/core/permissions';

import { join } from 'node:path';
import { createHash } from 'node:crypto';

import type { CliIo } from '../cli/io.ts';
import { UsageError } from '../cli/usage-error.ts';
import type { FolderSettings } from './combine.ts';
import { configFolder, LOCAL_SETTINGS, parseSettings, PROJECT_SETTINGS, readSettingsFile } from './settings.ts';
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
      writeWhole(path, updated((await readSettingsFile(path))?.text ?? '{}', path, update)),
    );
    return;
  }
  await trust.update(folder, (record) => saveInFolder(folder, record, update));
}

/** Adds to a folder's own file; what is known of it then. */
async function saveInFolder(folder: string, record: TrustRecord | null, update: FileUpdate): Promise<TrustRecord> {
  const name = update.destination === 'projectSettings' ? PROJECT_SETTINGS : LOCAL_SETTINGS;
  const path = join(folder, name);
  const file = await readSettingsFile(path);
  const which = update.destination === 'projectSettings' ? 'project' : 'local';
  if (file !== null && file.digest !== record?.[which]) {
    throw new UsageError(`${name} has other settings that nobody trusted. Look at it, and say --trust`);
  }
  const digest = await writeBelow(folder, name, updated(file?.text ?? '{}', path, update));
  const known = { trusted: record?.trusted ?? false, project: record?.project ?? null, local: record?.local ?? null };
  return { ...record, ...known, [which]: digest };
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
function updated(text: string, path: string, update: FileUpdate): string {
  // Says clearly what is wrong with a file that can't be added to.
  parseSettings({ path, text }, undefined);
  const settings = parseJson(text === '' ? '{}' : text) as JsonObject;
  const permissions = (settings['permissions'] ?? {}) as JsonObject;
  return `${JSON.stringify({ ...settings, permissions: withPermissionUpdate(permissions, update) }, null, 2)}\n`;
}

/** What a settings file says of permissions, with an update in it. */
export function withPermissionUpdate(permissions: JsonObject, update: FileUpdate): JsonObject {
  if (update.type === 'setMode') return { ...permissions, mode: update.mode };
  if ('directories' in update) {
    const before = (permissions['additionalDirectories'] ?? []) as readonly string[];
    const kept = before.filter((folder) => !update.directories.includes(folder));
    const added = update.type === 'addDirectories' ? update.directories : [];
    return { ...permissions, additionalDirectories: [...kept, ...added] };
  }
  const before = (permissions[update.behavior] ?? []) as readonly (string | { readonly rule: string })[];
  const textOf = (rule: string | { readonly rule: string }): string => (typeof rule === 'string' ? rule : rule.rule);
  const others = before.filter((rule) => !update.rules.includes(textOf(rule)));
  const kept = update.type === 'replaceRules' ? [] : others;
  return { ...permissions, [update.behavior]: [...kept, ...(update.type === 'removeRules' ? [] : update.rules)] };
}
