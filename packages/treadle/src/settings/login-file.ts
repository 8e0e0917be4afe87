import { isJsonObject, parseJson, type JsonObject } from '@treadle/core/json';

import { stat } from 'node:fs/promises';
import { join } from 'node:path';

import type { CliIo } from '../cli/io.ts';
import { UsageError } from '../cli/usage-error.ts';
import { configFolder, readSettingsFile } from './settings.ts';
import { alone, writeWhole } from './trust.ts';

/** Where a key is: kept in the file itself, or in an environment variable of another name. */
export type KeptKey = { readonly value: string } | { readonly env: string };

/** What `treadle login` keeps. */
export interface Login {
  /** By the names of the variables that providers read. */
  readonly keys: Readonly<Record<string, KeptKey>>;
  /** The model that was chosen with it; null when none was. */
  readonly model: string | null;
}

type Where = Pick<CliIo, 'env' | 'cwd'>;

const FILE = 'login.json';
const NOTHING: Login = { keys: {}, model: null };

/** The file; null without a home. */
export function loginFile(io: Where): string | null {
  const config = configFolder(io);
  return config === null ? null : join(config, FILE);
}

/**
 * What is kept. No message quotes the file: it has keys.
 *
 * @throws UsageError for a file that others can read, or that can't be understood.
 */
export async function readLogin(io: Where): Promise<Login> {
  const path = loginFile(io);
  const file = path === null ? null : await readSettingsFile(path);
  if (path === null || file === null) return NOTHING;
  // Windows has other means, which these bits don't tell.
  if (process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0) {
    throw new UsageError(`Others can read the keys in ${path}. Run: chmod 600 '${path}'`);
  }
  return parsed(file.text) ?? refuse(path);
}

function refuse(path: string): never {
  throw new UsageError(`${path} can't be understood. Delete it, and log in again: treadle login`);
}

function parsed(text: string): Login | null {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return null;
  }
  if (!isJsonObject(value)) return null;
  const { keys = {}, model = null } = value;
  if (!isJsonObject(keys) || (model !== null && typeof model !== 'string')) return null;
  const read = Object.entries(keys).map(([name, key]) => [name, isJsonObject(key) ? keyOf(key) : null] as const);
  const known = read.flatMap(([name, key]) => (key === null ? [] : [[name, key] as const]));
  return known.length === read.length ? { keys: Object.fromEntries(known), model } : null;
}

function keyOf({ value, env }: JsonObject): KeptKey | null {
  if (typeof value === 'string') return { value };
  return typeof env === 'string' ? { env } : null;
}

/** Changes what is kept while no other process does. @throws UsageError without a place to keep it. */
export async function changeLogin(io: Where, change: (login: Login) => Login): Promise<void> {
  const config = configFolder(io);
  if (config === null) throw new UsageError('There is no place to keep a key. Set HOME or XDG_CONFIG_HOME.');
  await alone(config, async () => {
    const path = join(config, FILE);
    const login = change(await readLogin(io));
    // Written with mode 0600 from its first byte on.
    await writeWhole(path, `${JSON.stringify(login, null, 2)}\n`);
  });
}

/** The variables that a login stands for, as far as they have a value here. */
export function loginVariables({ keys }: Login, env: CliIo['env']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(keys).flatMap(([name, key]) => {
      const value = 'value' in key ? key.value : env[key.env];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}
