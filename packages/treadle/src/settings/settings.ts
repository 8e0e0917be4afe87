import type { JsonObject, JsonValue, PermissionMode } from '@treadle/core';
import { PERMISSION_MODES } from '@treadle/core/events';
import { isJsonObject, parseJson } from '@treadle/core/json';
import { checkRule } from '@treadle/core/permissions';
import { didYouMean } from '@treadle/core/names';

import type { SandboxOptions } from '@treadle/tools';

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import type { CliIo } from '../cli/io.ts';
import { reasonOf, UsageError } from '../cli/usage-error.ts';

/** What a settings file may say. All of it is optional. */
export type Settings = ReturnType<typeof parseSettings>;

/** What a file says of the sandbox that commands run in. */
export type SandboxSetting = Pick<SandboxOptions, 'mode' | 'required' | 'network' | 'sufficient'>;

export type SettingsRule =
  string | { readonly rule: string; readonly match?: readonly string[]; readonly noMatch?: readonly string[] };

/** The bytes of a settings file that is there. */
export interface SettingsFile {
  readonly path: string;
  readonly text: string;
  /** SHA-256 of the text: by it, a file that was changed since it was trusted is noticed. */
  readonly digest: string;
}

/** A file of settings is written by hand: bigger ones are none. */
const MAX_BYTES = 1_000_000;

/** The user's own folder of settings: `$XDG_CONFIG_HOME/treadle`, else `~/.config/treadle`. Null without a home. */
export function configFolder({ env, cwd }: Pick<CliIo, 'env' | 'cwd'>): string | null {
  const { XDG_CONFIG_HOME: config, HOME: home } = env;
  if (config) return join(resolve(cwd, config), 'treadle');
  return home ? join(resolve(cwd, home), '.config', 'treadle') : null;
}

export const PROJECT_SETTINGS = '.treadle/settings.json';
export const LOCAL_SETTINGS = '.treadle/settings.local.json';

/**
 * Reads a file without looking at what it says; null when there is none.
 *
 * @throws UsageError when something is there that can't be read.
 */
export async function readSettingsFile(path: string): Promise<SettingsFile | null> {
  try {
    const bytes = await readWithin(path, MAX_BYTES);
    return { path, text: bytes.toString('utf8'), digest: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new UsageError(`The settings ${path} can't be read: ${reasonOf(error)}`);
  }
}

/** The bytes of a file. @throws Error for more than those, and for what is no file. */
export async function readWithin(path: string, most: number): Promise<Buffer> {
  // A pipe would never end.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is no file');
    const parts: Buffer[] = [];
    let bytes = 0;
    // Files of the system say that they are empty, and some have no end.
    for await (const part of file.createReadStream({ autoClose: false })) {
      parts.push(part as Buffer);
      bytes += (part as Buffer).length;
      if (bytes > most) throw new Error(`it is larger than ${most} bytes`);
    }
    return Buffer.concat(parts);
  } finally {
    await file.close();
  }
}

const KNOWN = ['permissions', 'hooks', 'env', 'web', 'sandbox'];
const KNOWN_PERMISSIONS = ['allow', 'ask', 'deny', 'mode', 'additionalDirectories'];

/**
 * What a settings file says.
 *
 * @param home what `~` stands for
 * @param tools names of the tools there are. Absent: what tools rules name isn't checked.
 * @throws UsageError that names the file, the place in it, and what is wrong there.
 */
export function parseSettings(
  { path, text }: Pick<SettingsFile, 'path' | 'text'>,
  home: string | undefined,
  tools?: readonly string[],
) {
  const fail = (place: string, problem: string): never => {
    throw new UsageError(`${path}: ${place === '' ? '' : `${place} `}${problem}`);
  };
  let value: unknown;
  try {
    value = parseJson(text === '' ? '{}' : text);
  } catch (error) {
    return fail('', `is no JSON: ${reasonOf(error)}`);
  }
  const object = asObject(value) ?? fail('', 'must be a JSON object.');
  refuseUnknown(object, KNOWN, '', fail);
  const { permissions: given = {}, hooks, env = {}, web, sandbox } = object;
  const permissions = asObject(given) ?? fail('permissions', 'must be an object.');
  refuseUnknown(permissions, KNOWN_PERMISSIONS, 'permissions.', fail);
  const expanded = (folder: string): string => (folder.startsWith('~/') && home ? join(home, folder.slice(2)) : folder);
  const rules = (name: 'allow' | 'ask' | 'deny'): SettingsRule[] =>
    listOf(permissions[name], `permissions.${name}`, fail).map((rule, index) => {
      const place = `permissions.${name}[${index}]`;
      try {
        const checked = rule as SettingsRule;
        const written = typeof checked === 'string' ? homeInRule(checked, home) : checked;
        checkRule(written, name, 'userSettings', tools);
        return written;
      } catch (error) {
        return fail(place, reasonOf(error));
      }
    });
  const { mode } = permissions;
  if (mode !== undefined && !PERMISSION_MODES.some((known) => known === mode)) {
    fail('permissions.mode', `must be one of ${PERMISSION_MODES.join(', ')}.`);
  }
  const folders = 'permissions.additionalDirectories';
  const additionalDirectories = listOf(permissions['additionalDirectories'], folders, fail).map((folder, index) => {
    const path = typeof folder === 'string' ? expanded(folder) : '';
    return path.startsWith('/') ? path : fail(`${folders}[${index}]`, 'must be an absolute path.');
  });
  if (web !== undefined && typeof web !== 'boolean') fail('web', 'must be true or false.');
  return {
    permissions: {
      allow: rules('allow'),
      ask: rules('ask'),
      deny: rules('deny'),
      mode: mode as PermissionMode | undefined,
      /** Absolute. */
      additionalDirectories,
    },
    /** Commands at the moments of the loop; `hooksFromSettings` of `@treadle/tools` reads them. */
    hooks: hooks === undefined ? undefined : (asObject(hooks) ?? fail('hooks', 'must be an object.')),
    env: environment(env, fail),
    /** Whether `web_fetch` is among the tools. */
    web: web as boolean | undefined,
    sandbox: sandbox === undefined ? undefined : sandboxOf(sandbox, fail),
  };
}

type Fail = (place: string, problem: string) => never;

const asObject = (value: unknown): JsonObject | null => (isJsonObject(value) ? value : null);

function listOf(value: JsonValue | undefined, place: string, fail: Fail): readonly JsonValue[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as readonly JsonValue[]) : fail(place, 'must be a list.');
}

function refuseUnknown(object: JsonObject, known: readonly string[], prefix: string, fail: Fail): void {
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  // A misspelt "deny" must not pass for no rule at all.
  if (unknown !== undefined) fail(`${prefix}${unknown}`, `is no setting.${didYouMean(unknown, known)}`);
}

function environment(value: JsonValue, fail: Fail): Readonly<Record<string, string>> {
  const object = asObject(value) ?? fail('env', 'must be an object of texts.');
  return Object.fromEntries(
    Object.entries(object).map(([name, text]) => [
      name,
      typeof text === 'string' ? text : fail(`env.${name}`, 'must be a text.'),
    ]),
  );
}

const SANDBOX: Readonly<Record<keyof SandboxSetting, readonly JsonValue[]>> = {
  mode: ['workspace-write', 'read-only', 'off'],
  required: [true, false],
  network: ['none', 'host'],
  sufficient: [true, false],
};

function sandboxOf(value: JsonValue, fail: Fail): SandboxSetting {
  const object = asObject(value) ?? fail('sandbox', 'must be an object.');
  refuseUnknown(object, Object.keys(SANDBOX), 'sandbox.', fail);
  for (const [name, choices] of Object.entries(SANDBOX)) {
    const given = object[name];
    if (given === undefined || choices.includes(given)) continue;
    fail(`sandbox.${name}`, `must be ${choices.map((choice) => JSON.stringify(choice)).join(' or ')}.`);
  }
  if (object['required'] === true && object['mode'] === 'off') fail('sandbox', 'is required and off: choose one.');
  return object;
}

/** `read_file(~/secrets/**)`: rules themselves know no home. */
export const homeInRule = (rule: string, home: string | undefined): string =>
  home ? rule.replace(/^([\w-]+)\(~\//, (_, tool: string) => `${tool}(${home.replace(/\/$/, '')}/`) : rule;
