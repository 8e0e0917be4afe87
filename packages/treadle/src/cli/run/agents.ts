import { agentsTool, defineAgent, type Model, type PermissionOptions, type Tool } from '@treadle/core';
import { isStricter } from '@treadle/core/events';
import type { SubAgentDefinition } from '@treadle/core/features';
import { didYouMean } from '@treadle/core/names';

import { join } from 'node:path';

import { PROJECT_AGENTS, readAgentFiles, type AgentFile } from '../../settings/agent-files.ts';
import { configFolder } from '../../settings/settings.ts';
import { defined } from '../defined.ts';
import type { CliIo } from '../io.ts';
import { plainLine } from '../asking/plain-text.ts';

/** What the agents of files are made with: what the agent that may start them has. */
export interface AgentParts {
  readonly folder: string;
  /** Whether the folder's own definitions act. */
  readonly isTrusted: boolean;
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly permissions: PermissionOptions;
  /** Names of all tools that permissions may be about. */
  readonly knownTools: readonly string[];
  readonly loadModel: (name: string) => Promise<Model>;
  readonly note: (text: string) => void;
}

/** The tool `agent` with the agents that the user's files and the folder's define; null when there are none. */
export async function asTool(io: Pick<CliIo, 'env' | 'cwd'>, parts: AgentParts): Promise<Tool | null> {
  const config = configFolder(io);
  const own = config === null ? { agents: [], problems: [] } : await readAgentFiles(join(config, 'agents'));
  const found = await readAgentFiles(join(parts.folder, PROJECT_AGENTS));
  const count = found.agents.length;
  if (count > 0 && !parts.isTrusted) {
    const what = count === 1 ? 'The agent' : `The ${count} agents`;
    parts.note(`${what} of ${PROJECT_AGENTS} left alone: nobody has trusted this folder. --trust does.`);
  }
  const project = parts.isTrusted ? found : { agents: [], problems: [] };
  for (const problem of [...own.problems, ...project.problems]) parts.note(plainLine(problem, 300));
  const definitions = new Map<string, SubAgentDefinition>();
  // The folder's agent of a name takes the place of the user's.
  for (const file of [...own.agents, ...project.agents]) {
    const definition = await definitionOf(file, parts);
    if (definition) definitions.set(file.name, definition);
  }
  if (definitions.size === 0) return null;
  parts.note(`Agents: ${[...definitions.keys()].join(', ')}.`);
  return agentsTool(Object.fromEntries(definitions));
}

/** An agent that does no more than the one it works for: a mode of its own counts where it is stricter. */
async function definitionOf(file: AgentFile, parts: AgentParts): Promise<SubAgentDefinition | null> {
  const { re2Validator } = await import('@treadle/tools');
  const { tools, permissions, knownTools, note } = parts;
  const known = new Set(tools.map(({ name }) => name));
  const missing = file.tools?.find((name) => !known.has(name));
  if (missing !== undefined) {
    note(plainLine(`${file.path} was left out: there is no tool ${missing}.${didYouMean(missing, known)}`, 300));
    return null;
  }
  const mode = file.mode !== undefined && isStricter(file.mode, permissions.mode ?? 'default') ? file.mode : null;
  const agent = defineAgent({
    id: file.name,
    model: file.model === undefined ? parts.model : await parts.loadModel(file.model),
    instructions: file.instructions,
    tools: file.tools === undefined ? tools : tools.filter(({ name }) => file.tools?.includes(name)),
    permissions: { ...permissions, ...(mode === null ? {} : { mode }) },
    knownTools,
    validator: re2Validator(),
    limits: defined({ maxTurns: file.maxTurns, maxDurationMs: file.maxDurationMs }),
  });
  return { agent, description: file.description };
}
