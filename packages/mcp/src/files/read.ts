import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { errorText, TreadleError } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';
import type { JsonObject, JsonValue } from '@treadle/core';

import { checkServer } from '../client/config.ts';
import type { McpServerConfig } from '../client/config.ts';
import type { OAuthOptions } from '../login/login.ts';
import { expand } from './expand.ts';
import type { FileVariables } from './expand.ts';

/** A server that a file names. */
export interface FileServer {
  readonly name: string;
  /** Null when it can't be used; `problem` says why. */
  readonly config: McpServerConfig | null;
  readonly problem: string | null;
  /** True when the file says that it is off. */
  readonly disabled: boolean;
  /** How it is started or reached, as the file has it, for people: without the values of variables and headers. */
  readonly shown: string;
  /** SHA-256 of all that decides what is run or reached, as the file has it. Another digest is another server. */
  readonly digest: string;
}

/** Under which key the programs that share such files keep their servers. */
const KEYS = ['mcpServers', 'servers'] as const;

/**
 * Reads the servers of a file: `.mcp.json` of Claude Code, `mcp.json` of Cursor or of VS Code.
 *
 * @throws TreadleError `invalid_definition` when the file as a whole can't be understood. A server that can't be is in the
 * list, with its problem.
 */
export function readMcpFile(path: string, text: string, variables: FileVariables): FileServer[] {
  const refuse = (problem: string): never => {
    throw new TreadleError('invalid_definition', `${path} ${problem}`, { details: { path } });
  };
  const file = parsed(text, refuse);
  if (!isJsonObject(file)) return refuse('must be a JSON object.');
  const nested = isJsonObject(file['mcp']) ? file['mcp'] : file;
  const key = KEYS.find((each) => nested[each] !== undefined);
  if (key === undefined) return refuse('names no servers: "mcpServers" is missing.');
  const servers = nested[key];
  if (servers === undefined || !isJsonObject(servers)) return refuse(`must have an object of servers in "${key}".`);
  return Object.entries(servers).map(([name, entry]) => readServer(name, entry, variables));
}

function parsed(text: string, refuse: (problem: string) => never): unknown {
  try {
    return parseJson(withoutComments(text));
  } catch (error) {
    return refuse(`is no JSON: ${errorText(error)}`);
  }
}

/** VS Code's files may have comments and a comma too many. Texts are left alone. */
const withoutComments = (text: string): string =>
  text
    .replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_, quoted: string | undefined) => quoted ?? ' ')
    .replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, quoted: string | undefined) => quoted ?? '');

function readServer(name: string, given: JsonValue | undefined, variables: FileVariables): FileServer {
  const entry = given !== undefined && isJsonObject(given) ? given : {};
  const about = { name, disabled: isOff(entry), shown: shownOf(entry), digest: digestOf(entry) };
  try {
    const config = configOf(entry, variables);
    checkServer(name, config);
    return { ...about, config, problem: null };
  } catch (error) {
    return { ...about, config: null, problem: errorText(error) };
  }
}

const isOff = ({ disabled, enabled }: JsonObject): boolean => disabled === true || enabled === false;

/** What decides. The rest is about how other programs show a server, or lets them do things unasked, and counts for nothing. */
const DECIDING = [
  'type',
  'transport',
  'command',
  'args',
  'env',
  'cwd',
  'url',
  'serverUrl',
  'headers',
  'oauth',
  'tools',
];

const digestOf = (entry: JsonObject): string =>
  createHash('sha256')
    .update(JSON.stringify(DECIDING.map((key) => entry[key] ?? null)))
    .digest('hex');

function shownOf(entry: JsonObject): string {
  const { command, args, env, headers } = entry;
  const url = entry['url'] ?? entry['serverUrl'];
  const words = [command ?? url ?? '', ...(Array.isArray(args) ? (args as readonly JsonValue[]) : [])];
  const names = [env, headers].flatMap((values) =>
    values !== undefined && isJsonObject(values) ? Object.keys(values) : [],
  );
  const line = words.map((word) => (typeof word === 'string' ? word : JSON.stringify(word))).join(' ');
  const taken = new Set(
    [...JSON.stringify(entry).matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)/g)].map(([, name = '']) => name),
  );
  for (const own of ['workspaceFolder', 'workspaceFolderBasename', 'userHome', 'pathSeparator']) taken.delete(own);
  const facts = [
    ...(names.length === 0 ? [] : [`sets ${names.join(', ')}`]),
    ...(taken.size === 0 ? [] : [`gets your ${[...taken].join(', ')}`]),
  ];
  return facts.length === 0 ? line : `${line} (${facts.join('; ')})`;
}

function configOf(entry: JsonObject, variables: FileVariables): McpServerConfig {
  const text = (value: JsonValue | undefined): string | undefined =>
    typeof value === 'string' ? expand(value, variables) : undefined;
  const texts = (value: JsonValue | undefined): Record<string, string> | undefined => {
    if (value === undefined || !isJsonObject(value)) return undefined;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, text(typeof each === 'number' ? String(each) : each) ?? '']),
    );
  };
  const { args, tools, startupTimeoutMs } = entry;
  const timeout = entry['timeoutMs'] ?? entry['timeout'];
  const common = {
    ...(Array.isArray(tools) ? { tools: (tools as unknown[]).filter((tool) => typeof tool === 'string') } : {}),
    ...(typeof timeout === 'number' && timeout > 0 ? { timeoutMs: timeout } : {}),
    ...(typeof startupTimeoutMs === 'number' ? { startupTimeoutMs } : {}),
  };
  const url = text(entry['url'] ?? entry['serverUrl']);
  if (url !== undefined) {
    const headers = texts(entry['headers']);
    const type = kindOf(entry['type'] ?? entry['transport']);
    const oauth = oauthOf(entry['oauth'], text);
    return { ...common, url, ...(type && { type }), ...(headers && { headers }), ...(oauth && { oauth }) };
  }
  const command = text(entry['command']);
  if (command === undefined) throw new Error('it has neither a command nor a url');
  const env = texts(entry['env']);
  const cwd = text(entry['cwd']);
  return {
    ...common,
    command,
    args: Array.isArray(args) ? (args as readonly JsonValue[]).map((arg) => text(arg) ?? JSON.stringify(arg)) : [],
    ...(env && { env }),
    cwd: resolve(variables.folder, cwd ?? '.'),
  };
}

function kindOf(type: JsonValue | undefined): 'http' | 'sse' | undefined {
  if (type === undefined) return undefined;
  if (type === 'sse') return 'sse';
  if (typeof type === 'string' && /^(?:streamable-?)?http$/i.test(type)) return 'http';
  throw new Error(`its type is ${JSON.stringify(type)}, and must be stdio, http or sse`);
}

function oauthOf(
  given: JsonValue | undefined,
  text: (value: JsonValue | undefined) => string | undefined,
): OAuthOptions | undefined {
  if (given === undefined || !isJsonObject(given)) return undefined;
  const names = ['clientId', 'clientSecret', 'clientMetadataUrl', 'scope'] as const;
  return Object.fromEntries(
    names.flatMap((name) => (text(given[name]) === undefined ? [] : [[name, text(given[name])]])),
  );
}
