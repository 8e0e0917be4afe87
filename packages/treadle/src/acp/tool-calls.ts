import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk';
import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { resolve } from 'node:path';

const KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  skill: 'read',
  skill_file: 'read',
  recall: 'read',
  list_files: 'search',
  search: 'search',
  write_file: 'edit',
  edit_file: 'edit',
  bash: 'execute',
  web_fetch: 'fetch',
  todo: 'think',
  update_plan: 'think',
};

/** What a tool does, in the words of the protocol. */
export const kindOf = (toolName: string): ToolKind => KINDS[toolName] ?? 'other';

/** Whether the results of a tool are shown as they are, and not as Markdown. */
export const isVerbatim = (toolName: string): boolean => ['read', 'search', 'execute'].includes(kindOf(toolName));

const MAIN = ['command', 'path', 'pattern', 'query', 'url', 'description', 'prompt'] as const;
const LONGEST = 200;

/** What a call does, for people: the tool's label and its main argument. */
export function titleOf(toolName: string, label: string, args: JsonObject): string {
  const main = MAIN.map((name) => args[name]).find((value) => typeof value === 'string');
  if (main === undefined) return label;
  const line = main.replaceAll(/\s+/g, ' ').trim();
  const shown = line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
  return toolName === 'bash' ? shown : `${label} ${shown}`;
}

/** The files that a call is about, for editors that follow along. */
export function locationsOf(
  toolName: string,
  args: JsonObject,
  folder: string,
  details?: JsonValue,
): ToolCallLocation[] {
  const { path, offset } = args;
  if (typeof path !== 'string' || !['read', 'edit', 'search'].includes(kindOf(toolName))) return [];
  const changed = isJsonObject(details) ? details['firstChangedLine'] : undefined;
  const line = typeof changed === 'number' ? changed : offset;
  return [{ path: resolve(folder, path), ...(typeof line === 'number' ? { line } : {}) }];
}

/**
 * The change that a call makes to a file; none for other calls.
 *
 * @param before what the file held; null for a new file, undefined when that isn't known
 */
export function diffOf(
  toolName: string,
  args: JsonObject,
  folder: string,
  before: string | null | undefined,
): ToolCallContent[] {
  const { path, content, old_text: oldText, new_text: newText } = args;
  if (typeof path !== 'string') return [];
  const file = resolve(folder, path);
  if (toolName === 'edit_file' && typeof oldText === 'string' && typeof newText === 'string')
    return [{ type: 'diff', path: file, oldText, newText }];
  if (toolName !== 'write_file' || typeof content !== 'string') return [];
  return [{ type: 'diff', path: file, newText: content, ...(before === undefined ? {} : { oldText: before }) }];
}
