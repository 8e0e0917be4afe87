import type { JsonObject, JsonValue, PermissionMode, PermissionUpdate } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { isAboutFiles, ownRule, type RulePlace } from './rule-paths.ts';
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

/** `bash(git status)` in two parts, with the protocol's name of the tool. There `//x` is absolute. */
function wireRule(rule: string): { readonly toolName: string; readonly ruleContent?: string } {
  const [, name = rule, content] = /^([^(]+)\((.*)\)$/s.exec(rule) ?? [];
  if (content === undefined) return { toolName: wireName(name) };
  const isAbsolute = isAboutFiles(name) && content.startsWith('/');
  return { toolName: wireName(name), ruleContent: isAbsolute ? `/${content}` : content };
}

/** A rule as settings files of the protocol have it. */
export function wireRuleText(rule: string): string {
  const { toolName, ruleContent } = wireRule(rule);
  return ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`;
}

export function wireUpdate(update: PermissionUpdate): JsonObject {
  if (update.type === 'setMode') return { ...update, mode: wireMode(update.mode) };
  if ('rules' in update) return { ...update, rules: update.rules.map(wireRule) };
  return { ...update };
}

/**
 * The updates of an answer, as core takes them; it checks them itself.
 *
 * @param place where paths in rules begin
 * @throws Error for one that has no meaning here.
 */
export function ownUpdates(value: JsonValue | undefined, place: RulePlace): PermissionUpdate[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error('updatedPermissions must be a list.');
  return (value as readonly JsonValue[]).map((update) => {
    if (!isJsonObject(update)) throw new Error('Each of updatedPermissions must be an object.');
    const { rules, mode, destination = 'session' } = update;
    // What was said on a command line is over with its process.
    const kept = { ...update, destination: destination === 'cliArg' ? 'session' : destination };
    if (update['type'] === 'setMode') return { ...kept, mode: ownMode(mode) ?? mode } as unknown as PermissionUpdate;
    if (!Array.isArray(rules)) return kept as unknown as PermissionUpdate;
    return {
      ...kept,
      rules: (rules as readonly JsonValue[]).map((rule) => ownRuleOf(rule, place)),
    } as unknown as PermissionUpdate;
  });
}

function ownRuleOf(rule: JsonValue, place: RulePlace): string {
  const { toolName, ruleContent } = isJsonObject(rule) ? rule : {};
  if (typeof toolName !== 'string') throw new Error('A rule of updatedPermissions has no toolName.');
  const name = ownName(toolName);
  return typeof ruleContent === 'string' && ruleContent !== '' ? ownRule(`${name}(${ruleContent})`, place) : name;
}
