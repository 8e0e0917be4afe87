import {
  defineAgent,
  type Agent,
  type AgentDefinition,
  type CanUseTool,
  type Limits,
  type Model,
  type PermissionOptions,
  type Tool,
} from '@treadle/core';

import type { KeyGuard } from '../cli/asking/keys.ts';
import { defined } from '../cli/defined.ts';
import type { CliIo } from '../cli/io.ts';
import { agentIdOf } from '../cli/sessions/folder-sessions.ts';
import { defaultInstructions } from '../cli/run/instructions.ts';
import { projectInstructionsOf } from '../cli/run/project-instructions.ts';
import type { Channel } from './channel.ts';
import { askClient, askQuestions } from './client/permission-callback.ts';
import { modelName, switchedModel, type SwitchedModel } from './models.ts';
import type { SdkOptions } from './options.ts';
import { checkedRules } from './rules.ts';
import { ownName, wireName } from './wire/tools.ts';

/** What an agent is made with. */
export interface AgentParts {
  readonly io: CliIo;
  readonly folder: string;
  readonly options: SdkOptions;
  readonly channel: Channel;
  readonly guard: KeyGuard;
  readonly loadModel: (name: string) => Promise<Model>;
  readonly sessionId: () => string;
  readonly note: (text: string) => void;
}

/** An agent, and what can be changed of it while it works. */
export interface SdkAgent {
  readonly agent: Agent;
  readonly model: SwitchedModel;
  /** Names of its tools as the client knows them. */
  readonly toolNames: readonly string[];
}

/** Nothing ends a run of itself: a client that wants an end says so. */
const NO_LIMITS: Partial<Limits> = { maxTurns: Infinity, maxTotalTokens: Infinity, maxDurationMs: Infinity };

/** Tools that there are in some sessions only. Rules may be about them. */
const SOMETIMES = ['agent', 'recall', 'skill', 'skill_file', 'task_output', 'task_list', 'task_stop'];

/** The agent that a client has asked for. @throws UsageError for what can't be used. */
export async function buildAgent(parts: AgentParts): Promise<SdkAgent> {
  const { io, folder, options, note, loadModel } = parts;
  const model = switchedModel(await loadModel(await modelName(options.model, io.env)));
  const { fallbackModel } = options;
  const fallbacks = fallbackModel === undefined ? [] : [await loadModel(await modelName(fallbackModel, io.env))];
  const { re2Validator } = await import('@treadle/tools');
  const offered = await offeredTools(parts);
  const known = [...offered.map(({ name }) => name), ...SOMETIMES];
  const tools = chosenTools(offered, options.tools, note);
  const background = tools.filter(({ background: may, delegates }) => may === true || delegates !== undefined);
  const readsProject = options.sources.includes('project');
  const definition: AgentDefinition = {
    id: agentIdOf(folder),
    model,
    fallbacks,
    instructions: instructionsOf(options, folder),
    projectInstructions: readsProject ? await projectInstructionsOf(folder, note) : '',
    tools,
    permissions: permissionsOf(parts, known),
    knownTools: known,
    // A task that has ended is told of in a turn of its own.
    ...(background.length > 0 ? { background: { tools: background.map(({ name }) => name), wake: true } } : {}),
    ...(options.schema === null ? {} : { output: { schema: options.schema } }),
    limits: { ...NO_LIMITS, ...defined({ maxTurns: options.maxTurns }) },
    ...defined({ thinking: options.thinking }),
    validator: re2Validator(),
  };
  const agent = defineAgent(definition);
  return { agent, model, toolNames: agent.toolDefinitions.map(({ name }) => wireName(name)) };
}

function instructionsOf({ system, appended }: SdkOptions, folder: string): string {
  return [system ?? defaultInstructions(folder), appended].filter(Boolean).join('\n\n');
}

async function offeredTools({ channel, folder, guard, options }: AgentParts): Promise<readonly Tool[]> {
  const { askUserTool, builtInTools, planTool, todoTool, webFetchTool } = await import('@treadle/tools');
  const ask = askUserTool({ ask: (questions, context) => askQuestions(channel, questions, context) });
  const own = [...builtInTools({ root: folder }), todoTool(), webFetchTool(), planTool()];
  // A plan is for those who name it, and questions for those who answer.
  const unnamed = options.tools?.map(ownName).includes('update_plan') === true ? [] : ['update_plan'];
  return [...own.filter(({ name }) => !unnamed.includes(name)), ...(options.asksClient ? [ask] : [])].map(guard.tool);
}

function chosenTools(
  all: readonly Tool[],
  wanted: readonly string[] | undefined,
  note: (text: string) => void,
): readonly Tool[] {
  if (wanted === undefined) return all;
  const names = wanted.map(ownName);
  for (const [index, name] of names.entries()) {
    if (!all.some((tool) => tool.name === name)) note(`--tools: there is no tool ${wanted[index] ?? name}.`);
  }
  return all.filter(({ name }) => names.includes(name));
}

function permissionsOf(parts: AgentParts, tools: readonly string[]): PermissionOptions {
  const { folder, options, io, note, channel, sessionId } = parts;
  const place = { base: folder, home: io.env['HOME'] };
  const flags = { source: 'cliArg', where: 'allowedTools', tools, note } as const;
  const canUseTool = options.asksClient ? askClient({ channel, folder, sessionId }) : nobody;
  return {
    mode: options.mode ?? 'default',
    allowBypass: options.mayBypass || options.mode === 'bypass',
    settings: [
      checkedRules({ allow: options.allowed }, place, flags),
      checkedRules({ deny: options.disallowed }, place, { ...flags, where: 'disallowedTools' }),
    ],
    directories: options.directories,
    canUseTool,
  };
}

const nobody: CanUseTool = () => ({
  behavior: 'deny',
  message: 'Nobody can be asked: the client has no permission callback. Allow the tool by a rule of allowedTools.',
});
