import type { JsonObject, JsonValue } from '@treadle/core';
import { builtInToolName } from '@treadle/core/names';

import { isAbsolute, join } from 'node:path';

/** A field of a tool's input: its name here, its name on the wire, and what becomes of its value. */
interface Field {
  readonly ours: string;
  readonly theirs: string;
  /** `path`: absolute on the wire. `not`: the opposite. */
  readonly as?: 'path' | 'not';
}

interface WireTool {
  readonly ours: string;
  readonly theirs: string;
  readonly fields?: readonly Field[];
}

const FILE: Field = { ours: 'path', theirs: 'file_path', as: 'path' };
const PLACE: Field = { ours: 'path', theirs: 'path', as: 'path' };

/** The built-in tools as the protocol names them. Fields that aren't listed have the same name on both sides. */
export const WIRE_TOOLS: readonly WireTool[] = [
  { ours: 'bash', theirs: 'Bash', fields: [{ ours: 'timeout_ms', theirs: 'timeout' }] },
  { ours: 'read_file', theirs: 'Read', fields: [FILE] },
  { ours: 'write_file', theirs: 'Write', fields: [FILE] },
  {
    ours: 'edit_file',
    theirs: 'Edit',
    fields: [FILE, { ours: 'old_text', theirs: 'old_string' }, { ours: 'new_text', theirs: 'new_string' }],
  },
  { ours: 'list_files', theirs: 'Glob', fields: [PLACE] },
  {
    ours: 'search',
    theirs: 'Grep',
    fields: [PLACE, { ours: 'limit', theirs: 'head_limit' }, { ours: 'case_sensitive', theirs: '-i', as: 'not' }],
  },
  { ours: 'todo', theirs: 'TodoWrite' },
  { ours: 'ask_user', theirs: 'AskUserQuestion' },
  { ours: 'web_fetch', theirs: 'WebFetch' },
  { ours: 'agent', theirs: 'Agent' },
  { ours: 'skill', theirs: 'Skill', fields: [{ ours: 'name', theirs: 'skill' }] },
  { ours: 'task_output', theirs: 'TaskOutput', fields: [{ ours: 'wait_ms', theirs: 'timeout' }] },
  { ours: 'task_stop', theirs: 'TaskStop' },
  { ours: 'structured_output', theirs: 'StructuredOutput' },
];

const BY_OURS: ReadonlyMap<string, WireTool> = new Map(WIRE_TOOLS.map((tool) => [tool.ours, tool]));
const BY_THEIRS: ReadonlyMap<string, WireTool> = new Map(WIRE_TOOLS.map((tool) => [tool.theirs, tool]));

/** What the protocol calls a tool. */
export const wireName = (toolName: string): string => BY_OURS.get(toolName)?.theirs ?? toolName;

/** What a tool of the protocol is called here; older names of theirs are known too. */
export const ownName = (name: string): string => BY_THEIRS.get(name)?.ours ?? builtInToolName(name);

/** Whether the input of a tool looks the same on both sides, so that a piece of it can be passed on as it comes. */
export const isSameInput = (toolName: string): boolean => BY_OURS.get(toolName)?.fields === undefined;

/** The input of a call as the protocol has it. Paths below `folder` become absolute. */
export function wireInput(toolName: string, input: JsonObject, folder: string): JsonObject {
  const fields = new Map((BY_OURS.get(toolName)?.fields ?? []).map((field) => [field.ours, field]));
  return renamed(input, (name, value) => {
    const field = fields.get(name);
    if (!field) return [name, value];
    if (field.as === 'not') return [field.theirs, typeof value === 'boolean' ? !value : value];
    const isRelative = field.as === 'path' && typeof value === 'string' && !isAbsolute(value);
    return [field.theirs, isRelative ? join(folder, value) : value];
  });
}

/** The same the other way round, for a tool by its own name. Absolute paths are left as they are. */
export function ownInput(toolName: string, input: JsonObject): JsonObject {
  const fields = new Map((BY_OURS.get(toolName)?.fields ?? []).map((field) => [field.theirs, field]));
  return renamed(input, (name, value) => {
    const field = fields.get(name);
    if (!field) return [name, value];
    return [field.ours, field.as === 'not' && typeof value === 'boolean' ? !value : value];
  });
}

const renamed = (input: JsonObject, rename: (name: string, value: JsonValue) => [string, JsonValue]): JsonObject =>
  Object.fromEntries(Object.entries(input).map(([name, value = null]) => rename(name, value)));
