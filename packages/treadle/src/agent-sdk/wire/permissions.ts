import type { JsonObject, JsonValue, PermissionMode, PermissionUpdate } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { ownName, wireName } from './tools.ts';

/** The protocol's words for the modes. */
const MODES: readonly (readonly [PermissionMode, string])[] = [
  ['default', 'default'],
  ['acceptEdits', 'acceptEdits'],
  ['plan', 'plan'],
  ['dontAsk', 'dontAsk'],
  ['bypass', 'bypassPermissions'],
];

export const wireMode = (mode: PermissionMode): string => MODES.find(([ours]) => ours === mode)?.[1] ?? mode;

/** Undefined for a mode that there isn't here. */
export const ownMode = (mode: unknown): PermissionMode | undefined => MODES.find(([, theirs]) => theirs === mode)?.[0];

/** The words that a mode may be. */
export const WIRE_MODES: readonly string[] = MODES.map(([, theirs]) => theirs);

/** `bash(git status)` in two parts, with the protocol's name of the tool. */
function wireRule(rule: string): JsonObject {
  const [, name = rule, content] = /^([^(]+)\((.*)\)$/s.exec(rule) ?? [];
  return { toolName: wireName(name), ...(content === undefined ? {} : { ruleContent: content }) };
}

export function wireUpdate(update: PermissionUpdate): JsonObject {
  if (update.type === 'setMode') return { ...update, mode: wireMode(update.mode) };
  if ('rules' in update) return { ...update, rules: update.rules.map(wireRule) };
  return { ...update };
}

/**
 * The updates of an answer, as core takes them; it checks them itself.
 *
 * @throws Error for one that has no meaning here.
 */
export function ownUpdates(value: JsonValue | undefined): PermissionUpdate[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error('updatedPermissions must be a list.');
  return (value as readonly JsonValue[]).map((update) => {
    if (!isJsonObject(update)) throw new Error('Each of updatedPermissions must be an object.');
    const { rules, mode, destination = 'session' } = update;
    // What was said on a command line is over with its process.
    const kept = { ...update, destination: destination === 'cliArg' ? 'session' : destination };
    if (update['type'] === 'setMode') return { ...kept, mode: ownMode(mode) ?? mode } as unknown as PermissionUpdate;
    if (!Array.isArray(rules)) return kept as unknown as PermissionUpdate;
    return { ...kept, rules: (rules as readonly JsonValue[]).map(ownRule) } as unknown as PermissionUpdate;
  });
}

function ownRule(rule: JsonValue): string {
  const { toolName, ruleContent } = isJsonObject(rule) ? rule : {};
  if (typeof toolName !== 'string') throw new Error('A rule of updatedPermissions has no toolName.');
  const name = ownName(toolName);
  return typeof ruleContent === 'string' && ruleContent !== '' ? `${name}(${ruleContent})` : name;
}
