import { agentsTool, type JsonObject, type JsonValue, type PermissionMode, type Tool } from '@treadle/core';
import type { SubAgentDefinition } from '@treadle/core/features';
import { isJsonObject } from '@treadle/core/json';
import type { Plugin } from '@treadle/skills';

import { plainLine } from '../../cli/asking/plain-text.ts';
import { definitionOf, type AgentParts } from '../../cli/run/agents.ts';
import { UsageError } from '../../cli/usage-error.ts';
import { readAgentFiles, readAgents, type AgentFile } from '../../settings/agent-files.ts';
import { ownMode } from '../wire/permissions.ts';
import { ownName } from '../wire/tools.ts';

/** Fields of an agent's definition that have an effect here. */
const KNOWN: readonly string[] = [
  'description',
  'prompt',
  'tools',
  'disallowedTools',
  'model',
  'maxTurns',
  'permissionMode',
];

/** The agents that the client defines. @throws UsageError for one that can't be used. */
export function agentsOfClient(given: JsonObject): readonly AgentFile[] {
  return Object.entries(given).map(([name, definition]) => {
    const where = `agents.${name}`;
    if (!isJsonObject(definition)) throw new UsageError(`${where} must be an object.`);
    const { description, prompt, model, maxTurns } = definition;
    if (typeof description !== 'string' || typeof prompt !== 'string')
      throw new UsageError(`${where} needs a description and a prompt.`);
    if (maxTurns !== undefined && !(typeof maxTurns === 'number' && Number.isSafeInteger(maxTurns) && maxTurns > 0))
      throw new UsageError(`${where}.maxTurns must be a whole number of at least 1.`);
    return {
      path: where,
      name,
      description,
      instructions: prompt,
      tools: namesOf(definition['tools'], `${where}.tools`),
      disallowedTools: namesOf(definition['disallowedTools'], `${where}.disallowedTools`) ?? [],
      model: typeof model === 'string' && model !== 'inherit' ? model : undefined,
      mode: modeOf(definition['permissionMode'], where),
      maxTurns,
      maxDurationMs: undefined,
      ignored: Object.keys(definition).filter((key) => !KNOWN.includes(key)),
    };
  });
}

function namesOf(value: JsonValue | undefined, where: string): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value.map(ownName);
  throw new UsageError(`${where} must be a list of names.`);
}

function modeOf(value: JsonValue | undefined, where: string): PermissionMode | undefined {
  if (value === undefined || value === null) return undefined;
  const mode = ownMode(value);
  if (mode !== undefined) return mode;
  throw new UsageError(`${where}.permissionMode: there is no mode ${JSON.stringify(value)}.`);
}

/** The agents of folders `agents` and of plugins; what is wrong with files is said. */
export async function agentsOfFiles(
  folders: readonly string[],
  plugins: readonly Plugin[],
  note: (text: string) => void,
): Promise<readonly AgentFile[]> {
  const found = await Promise.all([
    ...folders.map((folder) => readAgentFiles(folder)),
    readAgents(plugins.flatMap(({ agents }) => agents)),
  ]);
  for (const problem of found.flatMap(({ problems }) => problems)) note(plainLine(problem, 300));
  return found.flatMap(({ agents }) => agents);
}

/** The tool `agent` for these agents, of which the later of a name wins; null for none. */
export async function agentTool(files: readonly AgentFile[], parts: AgentParts): Promise<Tool | null> {
  const definitions = new Map<string, SubAgentDefinition>();
  for (const file of files) {
    const definition = await definitionOf(file, parts);
    // Nobody has asked for an end of its own.
    const limits = { maxTurns: file.maxTurns ?? Infinity, maxDurationMs: Infinity };
    if (definition) definitions.set(file.name, { ...definition, limits });
  }
  return definitions.size === 0 ? null : agentsTool(Object.fromEntries(definitions));
}
