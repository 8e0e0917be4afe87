import type { AgentDefinition, Hook, Journal, Model, PendingCall, PermissionOptions, Tool } from '@treadle/core';
import type { Validator } from '@treadle/core/ports';
import type { McpServerStatus } from '@treadle/mcp';
import type { Plugin, Skill } from '@treadle/skills';
import type { EditorFiles } from '@treadle/tools';
import { builtInToolName } from '@treadle/core/names';

import { actingAgents, asTool, type AgentParts } from './agents.ts';
import type { ModelChoice } from './choose-model.ts';
import { exposureOf, keyGuard, runsUnconfined, type KeyGuard } from '../asking/keys.ts';
import {
  agentIdOf,
  folderOfSession,
  foldersThere,
  latestSession,
  realFolder,
  sessionOf,
} from '../sessions/folder-sessions.ts';
import { defined } from '../defined.ts';
import { defaultInstructions } from './instructions.ts';
import { projectInstructionsOf } from './project-instructions.ts';
import type { CommandContext } from '../context.ts';
import { mcpFor } from './mcp.ts';
import { skillsFor } from './skills.ts';
import type { CliIo } from '../io.ts';
import { openBlobs, unsavedJournal } from '../parts.ts';
import type { ContentKind } from '../asking/folder-contents.ts';
import { folderTrust } from '../asking/folder-trust.ts';
import type { CombinedSettings } from '../../settings/combine.ts';
import { nobodyToAsk, permissionsFor, rulesOfFlags } from '../asking/permissions.ts';
import type { KeptIn, RunRequest } from './request.ts';
import type { Terminal } from '../asking/terminal.ts';
import { suggestion, UsageError } from '../usage-error.ts';

/** What a run is made of that needs no session: the model, and what keeps keys to itself. */
export interface ChosenParts {
  readonly env: CliIo['env'];
  readonly guard: KeyGuard;
  readonly note: (text: string) => void;
  readonly choice: ModelChoice;
  readonly model: Model;
  readonly loadModel: (name: string) => Promise<Model>;
}

/**
 * Chooses the model, at the first run with the user.
 *
 * @throws UsageError or TreadleError for a model that can't be used.
 */
export async function chooseParts(context: CommandContext, request: RunRequest, asks: Terminal): Promise<ChosenParts> {
  const { io, parts, note: say } = context;
  const { chosenModel } = await import('../login/first-run.ts');
  const { choice, env } = await chosenModel(context, request.model, asks);
  await io.hideEnvironment?.();
  const guard = await keyGuard(env);
  const note = (text: string): void => say(guard.text(text));
  const loadModel = async (name: string): Promise<Model> => guard.model(await parts.model(name, env));
  return { env, guard, note, choice, loadModel, model: await loadModel(choice.name) };
}

/** An agent for a folder, and where its sessions are kept. */
export interface PreparedAgent {
  readonly journal: Journal;
  readonly kept: KeptIn;
  readonly place: Place;
  readonly rights: Rights;
  readonly definition: AgentDefinition;
  /** How the MCP servers are doing. */
  readonly servers: () => readonly McpServerStatus[];
  readonly skills: readonly Pick<Skill, 'name' | 'description'>[];
  /** The tools over a folder. */
  readonly toolsIn: (root: string) => Promise<readonly Tool[]>;
  /** Lets go of servers and of the journal. */
  close(): Promise<void>;
}

/** Puts the agent of a folder together: rights, servers, skills, tools. @param asks where the user is asked */
export async function prepareAgent(
  context: CommandContext,
  { env, guard, note, model, loadModel }: ChosenParts,
  request: RunRequest,
  asks: Terminal,
): Promise<PreparedAgent> {
  const { io, parts, interruptions } = context;
  const journal = guard.journal(await (request.save ? parts.journal(io) : unsavedJournal()));
  let closeMcp = async (): Promise<void> => {};
  const close = async (): Promise<void> => {
    await closeMcp();
    await journal.close();
  };
  try {
    const place = await findPlace(journal, io, request);
    const rights = await rightsFor({ ...context, note, guard }, request, place.folder, asks);
    const { permissions, hooks, knownTools, validator } = rights;
    const mcp = await interruptions.unless(
      mcpFor({ io: { ...io, env }, note, request, folder: place.folder }, rights, asks),
    );
    closeMcp = async () => mcp?.close();
    const skills = await interruptions.unless(skillsFor({ io, note, request, folder: place.folder }, rights));
    const { isActiveSkill } = await import('@treadle/skills');
    const moreTools = [...(mcp?.tools ?? []), ...skills.tools].map(guard.tool);
    const agentParts = { model, loadModel, note };
    const withServers = { ...rights, toolsIn: (root: string) => [...rights.toolsIn(root), ...moreTools] };
    const toolsIn = (root: string): Promise<readonly Tool[]> => withAgents(withServers, agentParts, request, root);
    const projectInstructions = request.instructions ? await projectInstructionsOf(place.folder, note) : '';
    const tools = await toolsIn(place.folder);
    const definition: AgentDefinition = {
      id: agentIdOf(place.folder),
      model,
      ...(request.thinking === undefined ? {} : { thinking: request.thinking }),
      instructions: skills.instructions(request.system ?? defaultInstructions(place.folder)),
      projectInstructions,
      tools,
      // What is left behind would die with this process.
      ...(request.background ? { background: { tools: inBackground(tools), atEnd: 'wait' } } : {}),
      permissions,
      hooks,
      knownTools,
      // Whoever names the tools gets no other one.
      context: { recall: request.tools === undefined, pin: isActiveSkill },
      limits: request.limits,
      title: request.title,
      validator,
    };
    const blobs = request.save ? await openBlobs(io) : null;
    const kept = { journal, ...(blobs ? { blobs } : {}) };
    const servers = (): readonly McpServerStatus[] => mcp?.status ?? [];
    return { journal, kept, place, rights, definition, servers, skills: skills.list, toolsIn, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What a call would change in a file of the folder, as a diff; null for calls that change none. */
export const previewIn =
  (folder: string, directories: readonly string[] = []) =>
  async ({ toolName, arguments: args }: PendingCall): Promise<string | null> => {
    const { openRoot, previewChange } = await import('@treadle/tools');
    return previewChange(openRoot(folder, { directories }), toolName, args);
  };

/** The tools whose calls may take long: commands, and other agents. */
const inBackground = (tools: readonly Tool[]): readonly string[] =>
  tools.filter(({ background, delegates }) => background === true || delegates !== undefined).map(({ name }) => name);

export interface Place {
  /** A real path. */
  readonly folder: string;
  /** Null for a new session. */
  readonly sessionId: string | null;
}

/** A session that is named works where it was started, unless `--cwd` moves it. */
async function findPlace(journal: Journal, io: CliIo, { session, cwd }: RunRequest): Promise<Place> {
  if (session.kind === 'id') {
    const sessionId = await sessionOf(journal, session.id);
    const own = cwd ?? (await folderOfSession(journal, sessionId)) ?? '.';
    const folder = await realFolder(io.cwd, own).catch((error: unknown) => {
      if (cwd !== undefined || !(error instanceof UsageError)) throw error;
      throw new UsageError(`${error.message} Session ${session.id} worked there: name another one with --cwd FOLDER.`);
    });
    return { folder, sessionId };
  }
  const folder = await realFolder(io.cwd, cwd ?? '.');
  return { folder, sessionId: session.kind === 'latest' ? await latestSession(journal, folder) : null };
}

/** What the tools of a run are, and what they may do. */
export interface Rights {
  /** The tools over a folder. */
  readonly toolsIn: (folder: string) => readonly Tool[];
  readonly permissions: PermissionOptions;
  readonly hooks: readonly Hook[];
  /** Those that the user has trusted, as they were trusted. */
  readonly plugins: readonly Plugin[];
  /** The agents that act, read once: what changes in a trusted folder later isn't trusted. */
  readonly agents: () => ReturnType<typeof actingAgents>;
  /** Checks the arguments of tools. */
  readonly validator: Validator;
  /** Names of all tools that there may be: rules and hooks may be about them. */
  readonly knownTools: readonly string[];
  /** Whether the folder as a whole is trusted. */
  readonly isTrusted: boolean;
  /** What is to be said beside a question about a command; null for nothing. */
  readonly aboutCommands: () => Promise<string | null>;
  /** Whether commands run without a sandbox here: by the settings, or because there is none and none is required. */
  readonly runsUnconfined: () => Promise<boolean>;
}

/** The tools, and what they may do: as the flags, the user's settings and the folder's have it. */
export async function rightsFor(
  { io, note, interruptions, guard }: CommandContext & { readonly guard: KeyGuard },
  request: RunRequest,
  folder: string,
  terminal: Terminal,
  /** The editor whose files the tools read and write. */
  editor?: EditorFiles,
): Promise<Rights> {
  const { askUserTool, builtInTools, hooksFromSettings, openRoot, planTool, re2Validator, todoTool, webFetchTool } =
    await import('@treadle/tools');
  const { combineSettings } = await import('../../settings/combine.ts');
  const { settingsSaver } = await import('../../settings/save.ts');
  const web = webFetchTool();
  const plan = planTool();
  const named = await Promise.all(request.directories.map((path) => realFolder(io.cwd, path)));
  const offered = (sandbox: CombinedSettings['sandbox'], path: string, directories: readonly string[] = []): Tool[] => {
    // Each copy of the folder is for one branch, and other folders would be for all.
    const root = openRoot(path, { ...defined({ editor }), directories: path === folder ? directories : [] });
    const bash = sandbox === undefined ? {} : { bash: { sandbox } };
    return [...builtInTools({ root, ...bash }), todoTool(), askUserTool(), web, plan];
  };
  const names = offered(undefined, folder).map(({ name }) => name);
  // What is misspelt is said before anything is asked.
  chosenTools([], names, request.tools);
  /** Rules and hooks may be about all tools that there may be. */
  const knownTools: readonly string[] = [...names, ...SOMETIMES];
  const rules = rulesOfFlags(
    { ...request, mode: request.permissionMode, folderNamed: request.cwd !== undefined },
    knownTools,
  );
  const { settings: found, isTrusted } = await folderTrust(folder, io, {
    trust: request.trust,
    wants: wantedBy(request, terminal.isThere),
    terminal,
    stopped: interruptions.first,
    note,
  });
  const settings = await combineSettings(found, io, note, knownTools);
  const directories = [...named, ...(await foldersThere(settings.permissions.directories, note))];
  // The web is only for those who say so: by the flag, in their settings, or by naming the tool.
  const hasWeb = request.web || settings.web || request.tools !== undefined;
  // A todo list is enough for most work: a plan is for those who name it.
  const unnamed = request.tools === undefined ? [plan] : [];
  const unwanted: readonly Tool[] = hasWeb ? unnamed : [web, ...unnamed];
  /** The tools over a folder. */
  const toolsIn = (root: string): readonly Tool[] =>
    chosenTools(offered(settings.sandbox, root, directories), names, request.tools)
      .filter((tool) => !unwanted.includes(tool))
      .map(guard.tool);
  const permissions = permissionsFor(rules, request.permissionMode, settings, {
    directories,
    saveUpdate: settingsSaver(found, io),
    // At a terminal the run pauses, and is asked about below.
    ...(terminal.isThere ? {} : { canUseTool: nobodyToAsk(note) }),
  });
  const plugins = request.plugins ? await (await import('../plugins/store.ts')).actingPlugins(io, note) : [];
  const pluginHooks = plugins.length === 0 ? null : (await import('../plugins/contents.ts')).pluginHooks;
  const hooks = [
    ...settings.hooks.flatMap(({ source, hooks: given }) => hooksFromSettings(given, { source, folder })),
    // What is left out was shown before the plugin was trusted.
    ...plugins.flatMap((plugin) => pluginHooks?.(plugin, folder, knownTools, () => {}) ?? []),
  ];
  let agents: ReturnType<typeof actingAgents> | null = null;
  /** What is to be said beside a question about a command; null for nothing. */
  const aboutCommands = (): Promise<string | null> => exposureOf(guard.keys, settings.sandbox);
  return {
    toolsIn,
    permissions,
    hooks,
    plugins,
    agents: () => (agents ??= actingAgents(io, { folder, isTrusted, plugins })),
    knownTools,
    validator: re2Validator(),
    isTrusted,
    aboutCommands,
    runsUnconfined: () => runsUnconfined(settings.sandbox),
  };
}

/** What a run would load of a folder. Whoever names the tools gets no others. */
function wantedBy({ tools, skills, mcpConfig, prompt }: RunRequest, isTyping: boolean): readonly ContentKind[] {
  const named = tools !== undefined;
  return [
    'settings',
    'hooks',
    ...(named || skills === null ? [] : (['skills'] as const)),
    ...(named ? [] : (['agents'] as const)),
    ...(named || mcpConfig === null ? [] : (['MCP servers'] as const)),
    ...(prompt?.startsWith('/') === true || (prompt === null && isTyping) ? (['commands'] as const) : []),
  ];
}

/** Tools that there are in some runs: agents of files, long conversations, background tasks. */
const SOMETIMES = ['agent', 'recall', 'skill', 'skill_file', 'task_output', 'task_list', 'task_stop'];

/** The tools over a folder, with that of the agents which files define. Whoever names the tools gets no other one. */
export async function withAgents(
  rights: Pick<Rights, 'toolsIn' | 'permissions' | 'knownTools' | 'agents'>,
  parts: Pick<AgentParts, 'model' | 'loadModel' | 'note'>,
  request: RunRequest,
  root: string,
): Promise<readonly Tool[]> {
  const { permissions, knownTools } = rights;
  const tools = rights.toolsIn(root);
  if (request.tools !== undefined) return tools;
  const agents = await asTool(await rights.agents(), { tools, permissions, knownTools, ...parts });
  return agents ? [...tools, agents] : tools;
}

function chosenTools(all: readonly Tool[], names: readonly string[], given: readonly string[] | undefined): Tool[] {
  if (given === undefined) return [...all];
  const wanted = given.map(builtInToolName);
  if (wanted.length === 0 || (wanted.length === 1 && wanted[0] === 'none')) return [];
  for (const name of wanted) {
    if (names.includes(name)) continue;
    throw new UsageError(
      `--tools doesn't know '${name}'.${suggestion(name, names)} There are: ${names.join(', ')}; or none.`,
    );
  }
  return all.filter(({ name }) => wanted.includes(name));
}
