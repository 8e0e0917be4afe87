import type { JsonObject, JsonValue, PermissionMode } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';

import { readFile, realpath } from 'node:fs/promises';
import { isAbsolute } from 'node:path';

import { UsageError } from '../cli/usage-error.ts';
import type { Arguments } from './arguments.ts';
import { thinkingOf } from './agent/models.ts';
import { ownMode, WIRE_MODES } from './wire/permissions.ts';
import { texts } from './agent/rules.ts';

/** What a session is to be, by the arguments and by what the client said first. */
export type SdkOptions = Awaited<ReturnType<typeof readOptions>>;

const SOURCES = ['user', 'project', 'local'] as const;

export type SettingSource = (typeof SOURCES)[number];

/** Fields of `initialize` that have no effect here. */
const WITHOUT_EFFECT = [
  'systemPromptSnapshot',
  'planModeInstructions',
  'toolAliases',
  'promptSuggestions',
  'agentProgressSummaries',
  'perTaskStopAffordance',
  'excludeDynamicSections',
];

/** @throws UsageError for what can't be used. */
export async function readOptions(args: Arguments, initialize: JsonObject, note: (text: string) => void) {
  for (const name of WITHOUT_EFFECT) {
    const value = initialize[name];
    if (value !== undefined && value !== null && value !== false) note(`initialize: ${name} has no effect here.`);
  }
  const resume = args.text('resume') ?? null;
  if (resume !== null && args.has('continue')) throw new UsageError('--continue and --resume name two sessions.');
  return {
    resume,
    continues: args.has('continue'),
    fork: args.has('fork-session'),
    resumeAt: args.text('resume-session-at') ?? null,
    dropsTurn: dropsTurnOf(args),
    sessionId: args.text('session-id') ?? null,
    save: !args.has('no-session-persistence'),
    title: textOf(initialize['title']),
    model: args.text('model'),
    fallbackModel: args.text('fallback-model'),
    thinking: thinkingOf(args),
    agent: args.text('agent'),
    maxTurns: args.amount('max-turns'),
    maxCost: args.amount('max-budget-usd'),
    /** Tokens of a turn: the model is told when they run out. */
    taskBudget: args.amount('task-budget'),
    mode: modeOf(args),
    mayBypass: mayBypass(args),
    asksClient: asksClient(args),
    allowed: args.list('allowedTools') ?? [],
    disallowed: [
      ...(args.list('disallowedTools') ?? []),
      ...texts(initialize['disallowedTools'], 'initialize: disallowedTools'),
    ],
    /** Undefined: all of them. */
    tools: toolsOf(args.list('tools'), args.has('tools')),
    directories: args.values('add-dir'),
    pluginFolders: args.values('plugin-dir'),
    /** Plugins whose MCP servers don't start. */
    noMcpFolders: args.values('plugin-dir-no-mcp'),
    system: await systemOf(args, initialize),
    appended: await appendedOf(args, initialize),
    schema: schemaOf(args, initialize),
    sources: sourcesOf(args),
    /** Whose settings, agents, skills, commands and MCP servers are the project's; undefined: the working folder's. */
    configRoot: await configRootOf(args),
    settings: await settingsOf(args, initialize),
    hooks: objectOf(initialize['hooks'], 'initialize: hooks'),
    agents: objectOf(initialize['agents'] ?? jsonOf(args.text('agents'), '--agents'), 'agents'),
    skills: initialize['skills'] === undefined ? null : texts(initialize['skills'], 'initialize: skills'),
    clientServers: texts(initialize['sdkMcpServers'], 'initialize: sdkMcpServers'),
    mcpConfig: args.text('mcp-config'),
    mcpServers: initialize['mcpServers'] === undefined ? null : objectOf(initialize['mcpServers'], 'mcpServers'),
    strictMcp: args.has('strict-mcp-config'),
    partial: args.has('include-partial-messages'),
    hookEvents: args.has('include-hook-events'),
    replay: args.has('replay-user-messages'),
    /** Whether each line of the transcript is told to the client too. */
    mirror: args.has('session-mirror'),
  };
}

const textOf = (value: JsonValue | undefined): string | null => (typeof value === 'string' ? value : null);

function objectOf(value: JsonValue | undefined, where: string): JsonObject {
  if (value === undefined || value === null) return {};
  if (isJsonObject(value)) return value;
  throw new UsageError(`${where} must be an object.`);
}

/** @throws UsageError for a text that is no JSON. */
function jsonOf(text: string | undefined, where: string): JsonValue | undefined {
  if (text === undefined) return undefined;
  try {
    return parseJson(text) as JsonValue;
  } catch {
    throw new UsageError(`${where} is no JSON.`);
  }
}

const mayBypass = (args: Arguments): boolean =>
  args.has('allow-dangerously-skip-permissions') || args.has('dangerously-skip-permissions');

function modeOf(args: Arguments): PermissionMode | undefined {
  const word = args.text('permission-mode');
  if (word === undefined) return args.has('dangerously-skip-permissions') ? 'bypass' : undefined;
  const mode = ownMode(word);
  if (mode === 'bypass' && !mayBypass(args))
    throw new UsageError(
      '--permission-mode bypassPermissions needs --allow-dangerously-skip-permissions too ' +
        "(TypeScript: allowDangerouslySkipPermissions: true; Python: extra_args={'allow-dangerously-skip-permissions': None}).",
    );
  if (mode !== undefined) return mode;
  throw new UsageError(`--permission-mode takes ${WIRE_MODES.join(', ')}, and not '${word}'.`);
}

function dropsTurnOf(args: Arguments): string | null {
  const uuid = args.text('resume-drops-turn') ?? null;
  if (uuid !== null && !args.has('resume-session-at'))
    throw new UsageError(
      '--resume-drops-turn needs --resume-session-at: it says which turn is dropped after that message.',
    );
  return uuid;
}

async function configRootOf(args: Arguments): Promise<string | undefined> {
  const path = args.text('project-config-root');
  if (path === undefined) return undefined;
  if (!isAbsolute(path)) throw new UsageError(`--project-config-root takes an absolute path, and not '${path}'.`);
  return realpath(path).catch(() => {
    throw new UsageError(`--project-config-root ${path}: there is no such folder.`);
  });
}

function asksClient(args: Arguments): boolean {
  const tool = args.text('permission-prompt-tool');
  if (tool !== undefined && tool !== 'stdio')
    throw new UsageError(
      `--permission-prompt-tool takes stdio: a tool of an MCP server can't be asked, such as '${tool}'.`,
    );
  const prompts = args.text('permission-prompts');
  if (prompts !== undefined && prompts !== 'host' && prompts !== 'none')
    throw new UsageError(`--permission-prompts takes host or none, and not '${prompts}'.`);
  return prompts === undefined ? tool === 'stdio' : prompts === 'host';
}

function toolsOf(list: readonly string[] | undefined, isGiven: boolean): readonly string[] | undefined {
  if (!isGiven || list === undefined || (list.length === 1 && list[0] === 'default')) return undefined;
  return list;
}

/** Undefined: this program's own. */
async function systemOf(args: Arguments, initialize: JsonObject): Promise<string | undefined> {
  const given = initialize['systemPrompt'];
  if (typeof given === 'string') return given;
  if (given !== undefined && given !== null) return texts(given, 'initialize: systemPrompt').join('\n\n');
  return args.text('system-prompt') ?? fileOf(args.text('system-prompt-file'), '--system-prompt-file');
}

async function appendedOf(args: Arguments, initialize: JsonObject): Promise<string | undefined> {
  const file = fileOf(args.text('append-system-prompt-file'), '--append-system-prompt-file');
  return textOf(initialize['appendSystemPrompt']) ?? args.text('append-system-prompt') ?? file;
}

async function fileOf(path: string | undefined, where: string): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return readFile(path, 'utf8').catch(() => {
    throw new UsageError(`${where} ${path} can't be read.`);
  });
}

function schemaOf(args: Arguments, initialize: JsonObject): JsonObject | null {
  const schema = initialize['jsonSchema'] ?? jsonOf(args.text('json-schema'), '--json-schema');
  if (schema === undefined || schema === null) return null;
  return objectOf(schema, 'The JSON schema of the result');
}

/** None unless they are named. */
function sourcesOf(args: Arguments): readonly SettingSource[] {
  const list = args.list('setting-sources') ?? [];
  return list.map((word) => {
    const source = SOURCES.find((known) => known === word);
    if (source !== undefined) return source;
    throw new UsageError(`--setting-sources takes ${SOURCES.join(', ')}, and not '${word}'.`);
  });
}

/** Settings that the client gives itself, by value or by path: those of the flag before those of `initialize`. */
async function settingsOf(args: Arguments, initialize: JsonObject): Promise<readonly GivenSettings[]> {
  const given: GivenSettings[] = [];
  for (const name of ['managed-settings', 'settings'] as const) {
    const text = args.text(name);
    if (text === undefined) continue;
    const isValue = text.trimStart().startsWith('{');
    const json = isValue ? text : await fileOf(text, `--${name}`);
    given.push({ where: `--${name}`, settings: objectOf(jsonOf(json, `--${name}`), `--${name}`) });
  }
  if (isJsonObject(initialize['settings']))
    given.push({ where: 'initialize: settings', settings: initialize['settings'] });
  return given;
}

export interface GivenSettings {
  readonly where: string;
  readonly settings: JsonObject;
}
