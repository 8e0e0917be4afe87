import { errorText, type JsonObject, type PermissionMode } from '@treadle/core';
import { PERMISSION_MODES } from '@treadle/core/events';
import { isJsonObject } from '@treadle/core/json';
import { builtInToolName } from '@treadle/core/names';

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { readSettingsFile } from './settings.ts';

/** Where a project keeps its agents; the later win. The user's own are in `agents` of their folder of settings, too. */
export const PROJECT_AGENTS = ['.claude/agents', '.treadle/agents'] as const;

/** An agent as a file defines it: Markdown with front matter, and its instructions below. */
export type AgentFile = Awaited<ReturnType<typeof parseAgentFile>>;

export interface AgentFiles {
  readonly agents: readonly AgentFile[];
  /** What is wrong with files that were left out. */
  readonly problems: readonly string[];
}

/** More are not written by hand. */
const MAX_FILES = 100;
const MAX_LENGTH = 100_000;
const MAX_FRONT_MATTER = 10_000;

/** Reads the definitions in a folder, in the order of their files. One that can't be used is a problem, and no more. */
export async function readAgentFiles(folder: string): Promise<AgentFiles> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.md')).toSorted();
  return readAgents(names.map((name) => join(folder, name)));
}

/** Reads these files. */
export async function readAgents(paths: readonly string[]): Promise<AgentFiles> {
  const problems =
    paths.length > MAX_FILES
      ? [`There are more than ${MAX_FILES} agents: ${paths[MAX_FILES]} and later ones are left out.`]
      : [];
  const agents: AgentFile[] = [];
  for (const path of paths.slice(0, MAX_FILES)) {
    try {
      const file = await readSettingsFile(path);
      if (file) agents.push(await parseAgentFile(path, file.text));
    } catch (error) {
      problems.push(`${path} was left out: ${errorText(error)}`);
    }
  }
  return { agents, problems };
}

const KNOWN: readonly string[] = [
  'name',
  'description',
  'tools',
  'disallowedTools',
  'model',
  'permissionMode',
  'maxTurns',
  'maxDurationMs',
];

/** @throws Error that says what is wrong. */
export async function parseAgentFile(path: string, text: string) {
  if (text.length > MAX_LENGTH) throw new Error(`it is longer than ${MAX_LENGTH} characters`);
  const match = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(text);
  const [, head = '', body = ''] = match ?? [];
  if (!match) throw new Error('it does not begin with front matter between two lines of ---');
  if (head.length > MAX_FRONT_MATTER) throw new Error(`its front matter is longer than ${MAX_FRONT_MATTER} characters`);
  // Loaded on use: most folders have no agents.
  const { parse } = await import('yaml');
  const front: unknown = parse(head, { maxAliasCount: 0, logLevel: 'error' });
  if (!isJsonObject(front)) throw new Error('its front matter must be a list of keys with values');
  const ignored = Object.keys(front).filter((key) => !KNOWN.includes(key));
  const name = textOf(front, 'name') ?? '';
  if (!/^[\w-]{1,64}$/.test(name)) throw new Error('its name must be 1 to 64 letters, digits, "_" or "-"');
  const description = textOf(front, 'description')?.trim() ?? '';
  if (description === '') throw new Error('it has no description, by which a model would choose it');
  const instructions = body.trim();
  if (instructions === '') throw new Error('it has no instructions below its front matter');
  return {
    path,
    name,
    description,
    instructions,
    /** Our names of tools. Absent: those of the agent that starts it. */
    tools: toolsOf(front, 'tools'),
    disallowedTools: toolsOf(front, 'disallowedTools') ?? [],
    /** `provider/model`. Absent: the model of the agent that starts it. */
    model: modelOf(front),
    mode: modeOf(front),
    maxTurns: countOf(front, 'maxTurns'),
    maxDurationMs: countOf(front, 'maxDurationMs'),
    /** Keys that nobody reads here. Other programs have more of them. */
    ignored,
  };
}

function textOf(front: JsonObject, key: string): string | undefined {
  const value = front[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw new Error(`its ${key} must be a text`);
}

/** What Claude Code calls models, and what they are. */
const ALIASES: Readonly<Record<string, string | undefined>> = {
  inherit: undefined,
  opus: 'anthropic/claude-opus-5-5',
  sonnet: 'anthropic/claude-sonnet-5-5',
  haiku: 'anthropic/claude-haiku-5-5',
};

function modelOf(front: JsonObject): string | undefined {
  const name = textOf(front, 'model');
  if (name === undefined) return undefined;
  if (Object.hasOwn(ALIASES, name)) return ALIASES[name];
  return name.startsWith('claude-') ? `anthropic/${name}` : name;
}

/** A list, or its items in one text with commas. */
function toolsOf(front: JsonObject, key: 'tools' | 'disallowedTools'): readonly string[] | undefined {
  const value = front[key];
  if (value === undefined || value === null) return undefined;
  const list = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
  if (Array.isArray(list) && list.every((item) => typeof item === 'string'))
    return [...new Set(list.filter((item) => item !== '').map(builtInToolName))];
  throw new Error(`its ${key} must be a list of names`);
}

function modeOf(front: JsonObject): PermissionMode | undefined {
  const given = textOf(front, 'permissionMode');
  const word = given === 'bypassPermissions' ? 'bypass' : given;
  const mode = PERMISSION_MODES.find((known) => known === word);
  if (word === undefined || mode) return mode;
  throw new Error(`its permissionMode must be one of ${PERMISSION_MODES.join(', ')}`);
}

function countOf(front: JsonObject, key: string): number | undefined {
  const value = front[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`its ${key} must be a whole number of at least 1`);
}
