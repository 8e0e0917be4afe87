import { agentsTool, defineAgent, type Model, type PermissionOptions, type Tool } from '@treadle/core';
import { isStricter } from '@treadle/core/events';
import type { SubAgentDefinition } from '@treadle/core/features';
import { didYouMean } from '@treadle/core/names';
import type { Plugin } from '@treadle/skills';

import { join } from 'node:path';

import {
  PROJECT_AGENTS,
  readAgentFiles,
  readAgents,
  type AgentFile,
  type AgentFiles,
} from '../../settings/agent-files.ts';
import { configFolder } from '../../settings/settings.ts';
import { defined } from '../defined.ts';
import type { CliIo } from '../io.ts';
import { plainLine } from '../asking/plain-text.ts';

/** What the agents of files are made with: what the agent that may start them has. */
export interface AgentParts {
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly permissions: PermissionOptions;
  /** Names of all tools that permissions may be about. */
  readonly knownTools: readonly string[];
  readonly loadModel: (name: string) => Promise<Model>;
  readonly note: (text: string) => void;
}

/** The agents of plugins, of the user's files and of the folder's, of which the later ones win. */
export async function actingAgents(
  io: Pick<CliIo, 'env' | 'cwd'>,
  parts: {
    readonly folder: string;
    /** Whether the folder's own definitions act. */
    readonly isTrusted: boolean;
    readonly plugins: readonly Plugin[];
  },
): Promise<AgentFiles> {
  const config = configFolder(io);
  const home = io.env['HOME'];
  const places = [
    ...(home ? [join(home, '.claude/agents')] : []),
    ...(config === null ? [] : [join(config, 'agents')]),
  ];
  const ofPlugins = await readAgents(parts.plugins.flatMap(({ agents }) => agents));
  const own = await Promise.all(places.map(readAgentFiles));
  const theirs = PROJECT_AGENTS.map((path) => join(parts.folder, path)).filter((path) => !places.includes(path));
  const project = parts.isTrusted ? await Promise.all(theirs.map(readAgentFiles)) : [];
  return merged([ofPlugins, ...own, ...project]);
}

/** The tool `agent` with these agents; null when there are none. */
export async function asTool({ agents, problems }: AgentFiles, parts: AgentParts): Promise<Tool | null> {
  for (const problem of problems) parts.note(plainLine(problem, 300));
  const definitions = new Map<string, SubAgentDefinition>();
  for (const file of agents) {
    const definition = await definitionOf(file, parts);
    if (definition) definitions.set(file.name, definition);
  }
  if (definitions.size === 0) return null;
  parts.note(`Agents: ${[...definitions.keys()].join(', ')}.`);
  return agentsTool(Object.fromEntries(definitions));
}

const merged = (all: readonly AgentFiles[]): AgentFiles => ({
  agents: all.flatMap(({ agents }) => agents),
  problems: all.flatMap(({ problems }) => problems),
});

/** Names as Claude Code has them: its own tools and those of servers. Files for it may name some that aren't here. */
const isOthers = (name: string): boolean => /^(?:[A-Z]|mcp__)/.test(name);

/** An agent that does no more than the one it works for: a mode of its own counts where it is stricter. */
export async function definitionOf(file: AgentFile, parts: AgentParts): Promise<SubAgentDefinition | null> {
  const { re2Validator } = await import('@treadle/tools');
  const { tools, permissions, knownTools, note } = parts;
  const known = new Set(tools.map(({ name }) => name));
  const say = (text: string): void => note(plainLine(`${file.path}: ${text}`, 300));
  const absent = (file.tools ?? []).filter((name) => !known.has(name));
  const typo = absent.find((name) => !isOthers(name) && !knownTools.includes(name));
  if (typo !== undefined) {
    note(plainLine(`${file.path} was left out: there is no tool ${typo}.${didYouMean(typo, known)}`, 300));
    return null;
  }
  if (absent.length > 0) say(`it runs without ${absent.join(', ')}, which this run doesn't have.`);
  if (file.ignored.length > 0) say(`${file.ignored.join(', ')} has no effect here.`);
  const mode = file.mode !== undefined && isStricter(file.mode, permissions.mode ?? 'default') ? file.mode : null;
  const agent = defineAgent({
    id: file.name,
    model: await modelOf(file, parts),
    instructions: file.instructions,
    tools: tools.filter(({ name }) => file.tools?.includes(name) !== false && !file.disallowedTools.includes(name)),
    permissions: { ...permissions, ...(mode === null ? {} : { mode }) },
    knownTools,
    validator: re2Validator(),
    limits: defined({ maxTurns: file.maxTurns, maxDurationMs: file.maxDurationMs }),
  });
  return { agent, description: file.description };
}

/** Its own model; that of the run where it is Claude's, and the run is at another provider. */
async function modelOf({ path, model }: AgentFile, parts: AgentParts): Promise<Model> {
  if (model === undefined) return parts.model;
  const isElsewhere = model.startsWith('anthropic/') && parts.model.provider !== 'anthropic';
  if (!isElsewhere) return parts.loadModel(model);
  return parts.loadModel(model).catch(() => {
    parts.note(plainLine(`${path}: ${model} can't be used here, and it works with the run's model.`, 300));
    return parts.model;
  });
}
