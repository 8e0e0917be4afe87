import type { JsonObject, JsonValue, PermissionMode } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';

import { UsageError } from '../../cli/usage-error.ts';
import { texts, type WrittenRules } from '../agent/rules.ts';
import { ownMode } from '../wire/permissions.ts';

/** What is understood of a settings file of `.claude`. */
export interface ClaudeSettings {
  /** For messages. */
  readonly where: string;
  readonly rules: WrittenRules;
  readonly mode: PermissionMode | undefined;
  readonly directories: readonly string[];
  readonly hooks: JsonObject | null;
  readonly env: Readonly<Record<string, string>>;
  readonly model: string | undefined;
  readonly outputStyle: string | undefined;
}

const KNOWN: readonly string[] = ['$schema', 'permissions', 'hooks', 'env', 'model', 'outputStyle'];
const KNOWN_PERMISSIONS: readonly string[] = ['allow', 'ask', 'deny', 'defaultMode', 'additionalDirectories'];

/**
 * Reads settings. What isn't known is said and left alone; what is known and can't be understood is refused.
 *
 * @throws UsageError that names the place.
 */
export function readClaudeSettings(value: JsonObject, where: string, note: (text: string) => void): ClaudeSettings {
  const { permissions: given = {}, hooks, env = {}, model, outputStyle } = value;
  const unknown = Object.keys(value).filter((key) => !KNOWN.includes(key));
  if (unknown.length > 0) note(`${where}: ${unknown.join(', ')} has no effect here.`);
  const permissions = objectIn(given, `${where}: permissions`);
  const unread = Object.keys(permissions).filter((key) => !KNOWN_PERMISSIONS.includes(key));
  // A key that restrains and isn't known must not pass for nothing.
  if (unread.some((key) => key !== 'disableBypassPermissionsMode'))
    throw new UsageError(`${where}: permissions.${unread[0] ?? ''} is not known.`);
  const { defaultMode } = permissions;
  const mode = defaultMode === undefined ? undefined : ownMode(defaultMode);
  if (defaultMode !== undefined && mode === undefined)
    throw new UsageError(`${where}: permissions.defaultMode: there is no mode ${JSON.stringify(defaultMode)}.`);
  const list = (name: string): readonly string[] => texts(permissions[name], `${where}: permissions.${name}`);
  return {
    where,
    rules: { allow: list('allow'), ask: list('ask'), deny: list('deny') },
    mode,
    directories: list('additionalDirectories'),
    hooks: hooks === undefined ? null : objectIn(hooks, `${where}: hooks`),
    env: Object.fromEntries(
      Object.entries(objectIn(env, `${where}: env`)).map(([name, text]) => [
        name,
        textOf(text, `${where}: env.${name}`),
      ]),
    ),
    model: model === undefined ? undefined : textOf(model, `${where}: model`),
    outputStyle: outputStyle === undefined ? undefined : textOf(outputStyle, `${where}: outputStyle`),
  };
}

/** The object of a file's text. @throws UsageError for a text that is none. */
export function settingsObject(text: string, where: string): JsonObject {
  let value: unknown;
  try {
    value = parseJson(text.trim() === '' ? '{}' : text);
  } catch {
    throw new UsageError(`${where} is no JSON.`);
  }
  if (isJsonObject(value)) return value;
  throw new UsageError(`${where} must be a JSON object.`);
}

function objectIn(value: JsonValue, where: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new UsageError(`${where} must be an object.`);
}

function textOf(value: JsonValue | undefined, where: string): string {
  if (typeof value === 'string') return value;
  throw new UsageError(`${where} must be a text.`);
}
