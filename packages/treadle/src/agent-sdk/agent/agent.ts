import { defineAgent, type Agent, type AgentDefinition, type Hook, type Limits, type Tool } from '@treadle/core';
import {
  isActiveSkill,
  loadCommands,
  loadSkills,
  skillsPrompt,
  skillTools,
  type Command,
  type Plugin,
  type SkillSet,
} from '@treadle/skills';

import { plainLine } from '../../cli/asking/plain-text.ts';
import { defined } from '../../cli/defined.ts';
import { defaultInstructions } from '../../cli/run/instructions.ts';
import { projectInstructionsOf } from '../../cli/run/project-instructions.ts';
import { agentIdOf, foldersThere } from '../../cli/sessions/folder-sessions.ts';
import { UsageError } from '../../cli/usage-error.ts';
import type { AgentFile } from '../../settings/agent-files.ts';
import { agentsOfClient, agentsOfFiles, agentTool } from './agents.ts';
import { clientHooks } from '../client/hooks.ts';
import { askQuestions } from '../client/permission-callback.ts';
import type { SwitchedModel } from './models.ts';
import type { SdkOptions } from '../options.ts';
import type { SdkParts } from './parts.ts';
import { moreFolders, permissionsFor } from './permissions.ts';
import { DEFAULT_STYLE, outputStyles } from '../settings/output-styles.ts';
import { hooksOfSettings } from '../settings/settings-hooks.ts';
import type { Sources } from '../settings/sources.ts';
import { ownName, wireName } from '../wire/tools.ts';

/** An agent, and what a client learns and changes of it. */
export interface SdkAgent {
  readonly agent: Agent;
  readonly model: SwitchedModel;
  /** Names of its tools as the client knows them. */
  readonly toolNames: readonly string[];
  readonly agents: readonly { readonly name: string; readonly description: string }[];
  /** What a prompt like `/name` means. */
  readonly commands: readonly { readonly name: string; readonly description: string; readonly argumentHint: string }[];
  readonly commandSet: readonly Command[];
  readonly skills: readonly string[];
  /** More folders that its tools work in. */
  readonly directories: readonly string[];
  readonly outputStyle: string;
  readonly outputStyles: readonly string[];
  readonly plugins: readonly { readonly name: string; readonly path: string }[];
}

/** Nothing ends a run of itself: a client that wants an end says so. */
const NO_LIMITS: Partial<Limits> = { maxTurns: Infinity, maxTotalTokens: Infinity, maxDurationMs: Infinity };

/** Tools that there are in some sessions only. Rules may be about them. */
const SOMETIMES = ['agent', 'recall', 'skill', 'skill_file', 'task_output', 'task_list', 'task_stop'];

/** The commands that are always there. */
const OWN_COMMANDS = [
  { name: 'compact', description: 'Sum up the conversation so far.', argumentHint: '[what to keep]' },
  { name: 'clear', description: 'Forget the conversation.', argumentHint: '' },
] as const;

/** The agent that a client has asked for. @throws UsageError for what can't be used. */
export async function buildAgent(parts: SdkParts): Promise<SdkAgent> {
  const { folder, options, note, guard, sources, plugins, model, loadModel } = parts;
  const { settings } = sources;
  const { fallbackModel } = options;
  const fallbacks = fallbackModel === undefined ? [] : [await loadModel(fallbackModel)];
  const { re2Validator } = await import('@treadle/tools');
  const skills = await skillsFor(sources, plugins, options, note);
  const commandSet = await commandsFor(sources, plugins, note);
  const directories = await foldersThere(moreFolders(parts), note);
  const offered = [
    ...(await offeredTools(parts, directories)),
    ...[...parts.tools, ...skillTools(skills)].map(guard.tool),
  ];
  const known = [...offered.map(({ name }) => name), ...SOMETIMES];
  const chosen = chosenTools(offered, options.tools, note);
  const permissions = permissionsFor(parts, known, directories);
  const files = [...(await agentsOfFiles(sources.agents, plugins, note)), ...agentsOfClient(options.agents)];
  const main = mainAgent(files, options);
  const agentParts = {
    model,
    tools: chosen,
    permissions,
    knownTools: known,
    loadModel,
    note,
  };
  const sub = hasTool(options.tools, 'agent') ? await agentTool(files, agentParts) : null;
  const tools = [...chosen.filter(isOf(main)), ...(sub ? [sub] : [])];
  const background = tools.filter(({ background: may, delegates }) => may === true || delegates !== undefined);
  const styles = await outputStyles(sources.styles, note);
  const style = styleOf(settings.findLast(({ outputStyle }) => outputStyle !== undefined)?.outputStyle, styles, note);
  const definition: AgentDefinition = {
    id: agentIdOf(folder),
    model,
    fallbacks,
    instructions: [
      main?.instructions ?? options.system ?? defaultInstructions(folder),
      styles.get(style)?.text,
      options.appended,
      skillsPrompt(skills),
    ]
      .filter(Boolean)
      .join('\n\n'),
    projectInstructions: options.sources.includes('project') ? await projectInstructionsOf(folder, note) : '',
    tools,
    permissions,
    hooks: hooksFor(parts, sources, plugins, known),
    knownTools: known,
    // A task that has ended is told of in a turn of its own.
    ...(background.length > 0 ? { background: { tools: background.map(({ name }) => name), wake: true } } : {}),
    ...(options.schema === null ? {} : { output: { schema: options.schema } }),
    context: { recall: options.tools === undefined, pin: isActiveSkill },
    limits: { ...NO_LIMITS, ...defined({ maxTurns: options.maxTurns, maxTotalTokens: options.taskBudget }) },
    ...defined({ thinking: options.thinking }),
    validator: re2Validator(),
  };
  const agent = defineAgent(definition);
  return {
    agent,
    model,
    toolNames: agent.toolDefinitions.map(({ name }) => wireName(name)),
    agents: files.map(({ name, description }) => ({ name, description })),
    commands: [
      ...OWN_COMMANDS,
      ...commandSet.map(({ name, description, argumentHint }) => ({ name, description, argumentHint })),
    ],
    commandSet,
    skills: skills.skills.map(({ name }) => name),
    directories,
    outputStyle: style,
    outputStyles: [...styles.keys()],
    plugins: plugins.map(({ name, folder: path }) => ({ name, path })),
  };
}

const hasTool = (wanted: readonly string[] | undefined, name: string): boolean =>
  wanted === undefined || wanted.map(ownName).includes(name);

/** The agent that works in the session's own thread. */
function mainAgent(files: readonly AgentFile[], { agent: wanted }: SdkOptions): AgentFile | null {
  if (wanted === undefined) return null;
  const found = files.findLast(({ name }) => name === wanted);
  if (found) return found;
  throw new UsageError(
    `--agent ${wanted}: there is no such agent. There are: ${files.map(({ name }) => name).join(', ') || 'none'}.`,
  );
}

const isOf =
  (main: AgentFile | null) =>
  ({ name }: Tool): boolean =>
    main?.tools?.includes(name) !== false && main?.disallowedTools.includes(name) !== true;

function styleOf(
  wanted: string | undefined,
  styles: ReadonlyMap<string, unknown>,
  note: (text: string) => void,
): string {
  if (wanted === undefined || wanted === DEFAULT_STYLE || styles.has(wanted)) return wanted ?? DEFAULT_STYLE;
  note(`There is no output style ${wanted}.`);
  return DEFAULT_STYLE;
}

function hooksFor(
  parts: SdkParts,
  { settings }: Sources,
  plugins: readonly Plugin[],
  tools: readonly string[],
): Hook[] {
  const { channel, folder, io, options, note, transcriptPath } = parts;
  const project = options.configRoot ?? folder;
  const place = { channel, folder, transcriptPath, tools, note };
  const ofFiles = settings.flatMap(({ hooks, where, mayRun }) =>
    hooks === null || !mayRun ? [] : hooksOfSettings(hooks, where, { folder, project, env: io.env, tools, note }),
  );
  const ofPlugins = plugins.flatMap(({ name, folder: root, hooks }) => {
    const env = { ...io.env, CLAUDE_PLUGIN_ROOT: root };
    return hooksOfSettings(hooks, `the plugin ${name}`, { folder, project, env, tools, note });
  });
  const hooks = [...ofFiles, ...ofPlugins, ...clientHooks(options.hooks, place)];
  // A session that goes on with other servers or settings neither ends nor begins.
  return hooks.flatMap((hook) => {
    if (hook.event === 'session_start' && parts.isBegun) return [];
    if (hook.event !== 'session_end') return [hook];
    return [{ ...hook, run: (...told: Parameters<Hook['run']>) => (parts.isMoving() ? undefined : hook.run(...told)) }];
  });
}

async function skillsFor(
  { skills: folders }: Sources,
  plugins: readonly Plugin[],
  options: SdkOptions,
  note: (text: string) => void,
): Promise<SkillSet> {
  const all = await loadSkills([...folders, ...plugins.flatMap(({ skills }) => skills)]);
  for (const { severity, path, message } of all.problems)
    if (severity === 'error') note(plainLine(`The skill ${path}: ${message}.`, 300));
  const { skills: wanted } = options;
  const isThere = hasTool(options.tools, 'skill');
  return { ...all, skills: all.skills.filter(({ name }) => isThere && wanted?.includes(name) !== false) };
}

async function commandsFor(
  { commands: folders }: Sources,
  plugins: readonly Plugin[],
  note: (text: string) => void,
): Promise<readonly Command[]> {
  const { commands, problems } = await loadCommands([...folders, ...plugins.flatMap(({ commands: found }) => found)]);
  for (const { path, message } of problems) note(plainLine(`The command ${path}: ${message}.`, 300));
  return commands;
}

async function offeredTools(
  { channel, folder, guard, options }: SdkParts,
  directories: readonly string[],
): Promise<readonly Tool[]> {
  const { askUserTool, builtInTools, planTool, todoTool, webFetchTool } = await import('@treadle/tools');
  const ask = askUserTool({ ask: (questions, context) => askQuestions(channel, questions, context) });
  const own = [...builtInTools({ root: folder, directories }), todoTool(), webFetchTool()];
  // A plan is for those who name it, and questions for those who answer.
  const plan = options.tools?.map(ownName).includes('update_plan') === true ? [planTool()] : [];
  return [...own, ...plan, ...(options.asksClient ? [ask] : [])].map(guard.tool);
}

/** Those that are named; tools of servers and skills are not among what `--tools` restricts. */
function chosenTools(
  all: readonly Tool[],
  wanted: readonly string[] | undefined,
  note: (text: string) => void,
): readonly Tool[] {
  if (wanted === undefined) return all;
  const names = wanted.map(ownName);
  for (const [index, name] of names.entries()) {
    if (name !== 'agent' && !all.some((tool) => tool.name === name))
      note(`--tools: there is no tool ${wanted[index] ?? name}.`);
  }
  return all.filter(({ name }) => names.includes(name) || name.startsWith('mcp__') || name.startsWith('skill'));
}
