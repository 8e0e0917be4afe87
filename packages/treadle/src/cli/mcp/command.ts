import type { JsonObject } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';

import { join } from 'node:path';

import { withUserVariables } from '../../settings/combine.ts';
import { readSettingsFile } from '../../settings/settings.ts';
import { alone, writeWhole } from '../../settings/trust.ts';
import { MCP_COMMANDS, MCP_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { helpText } from '../help.ts';
import { parseOptions, type ParsedOptions } from '../options.ts';
import { realFolder } from '../sessions/folder-sessions.ts';
import { actingPlugins } from '../plugins/store.ts';
import { folderTrust } from '../asking/folder-trust.ts';
import { openTerminal, readLines } from '../asking/terminal.ts';
import { suggestion, UsageError } from '../usage-error.ts';
import { version } from '../version.ts';
import { openApprovals } from './approvals.ts';
import { connect, credentialsOf } from './connect.ts';
import { chosenServers, namedServers, PROJECT_FILE, serversOf, userFile, type NamedServer } from './servers.ts';

type Options = ParsedOptions<keyof typeof MCP_OPTIONS>;

/** What the commands share. */
interface Given extends CommandContext {
  readonly options: Options;
  readonly folder: string;
  /** What stands after the command's word. */
  readonly words: readonly string[];
}

const COMMANDS: Readonly<Record<string, (given: Given) => Promise<number>>> = { add, list, remove, test, login };

/** `treadle mcp`: the MCP servers that there are for this folder. Returns the exit code. */
export async function mcpCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const { out } = context;
  if (args[0] === 'serve') {
    const { mcpServeCommand } = await import('./serve.ts');
    return mcpServeCommand(context, args.slice(1));
  }
  const options = parseOptions(args, MCP_OPTIONS);
  const [word, ...words] = options.positionals;
  if (options.flag('version')) out.print(`${version()}\n`);
  else if (options.flag('help') || word === undefined) out.print(helpText('mcp'));
  if (options.flag('version') || options.flag('help')) return EXIT.done;
  if (word === undefined) return EXIT.usage;
  const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (!command) {
    throw new UsageError(`treadle mcp knows no '${word}'.${suggestion(word, MCP_COMMANDS)} See: treadle mcp --help`);
  }
  const io = { ...context.io, env: await withUserVariables(context.io) };
  const folder = await realFolder(io.cwd, options.text('cwd') ?? '.');
  return command({ ...context, io, options, folder, words });
}

async function list({ out, io, folder, words, options, note }: Given): Promise<number> {
  noMore(words, 'list');
  const all = await namedServers(folder, io, options.list('mcp-config') ?? [], note, await actingPlugins(io, note));
  const approvals = await openApprovals(folder, io);
  const stateOf = ({ source, disabled, problem, name, digest }: NamedServer): string => {
    if (disabled) return 'off';
    if (problem !== null) return problem;
    return source === 'project' && !approvals.has(name, digest) ? 'not approved' : 'ok';
  };
  if (options.flag('json')) {
    const servers = all.map((server) => {
      const { name, source, path, shown } = server;
      return { name, source, path, runs: shown, state: stateOf(server) };
    });
    out.print(`${JSON.stringify({ servers })}\n`);
    return EXIT.done;
  }
  for (const server of all) out.print(`${server.name} (${server.source}, ${stateOf(server)}): ${server.shown}\n`);
  if (all.length === 0) out.print('No MCP servers. Add one: treadle mcp add NAME COMMAND...\n');
  return EXIT.done;
}

async function test(given: Given): Promise<number> {
  const { out, io, folder, words, options, note, interruptions } = given;
  const all = await namedServers(folder, io, options.list('mcp-config') ?? [], note, await actingPlugins(io, note));
  const named = words.length === 0 ? all : words.map((name) => known(all, name));
  const terminal = openTerminal(io, out, readLines(io.stdin));
  const asks = { terminal, stopped: interruptions.first, note };
  const trust = options.flag('trust');
  const { isTrusted } = await folderTrust(folder, io, { ...asks, trust, wants: ['MCP servers'] });
  const configs = await chosenServers(named, { folder, io, isTrusted, ...asks });
  await using servers = await interruptions.unless(connect(configs, { io, folder, note, fresh: true }));
  for (const { name, state, tools } of servers.status) out.print(`${name}: ${state}, ${tools} tools\n`);
  const isFine = servers.status.length === named.length && servers.status.every(({ state }) => state === 'ready');
  return isFine ? EXIT.done : EXIT.error;
}

async function add({ io, folder, words, options, out }: Given): Promise<number> {
  const [name, target, ...rest] = words;
  if (name === undefined || target === undefined) {
    throw new UsageError('What is to be added? treadle mcp add NAME -- COMMAND ARGS..., or treadle mcp add NAME URL');
  }
  const isAddress = /^https?:\/\//.test(target);
  if (isAddress && rest.length > 0) throw new UsageError(`'${rest.join(' ')}' is too much: an address stands alone.`);
  const env = pairs(options.raw('env'), '=', '--env');
  const headers = pairs(options.raw('header'), ':', '--header');
  const transport = options.text('transport');
  const entry: JsonObject = isAddress
    ? { type: transport ?? 'http', url: target, ...(headers && { headers }) }
    : { command: target, args: rest, ...(env && { env }) };
  const isProject = options.flag('project');
  const path = isProject ? join(folder, PROJECT_FILE) : ownFile(io);
  await edit(path, io, (servers) => {
    if (Object.hasOwn(servers, name)) throw new UsageError(`${path} has a server ${name}. Remove it first.`);
    return { ...servers, [name]: entry };
  });
  // Written by us, on the user's word.
  const written = isProject
    ? (await serversOf(path, 'project', io, folder)).filter((server) => server.name === name)
    : [];
  if (isProject) await (await openApprovals(folder, io)).add(written);
  out.print(`Added ${name} to ${path}. Try it: treadle mcp test ${name}\n`);
  return EXIT.done;
}

async function remove({ io, folder, words, options, out }: Given): Promise<number> {
  const [name, ...more] = words;
  if (name === undefined) throw new UsageError('Which server? treadle mcp remove NAME');
  noMore(more, 'remove NAME');
  const path = options.flag('project') ? join(folder, PROJECT_FILE) : ownFile(io);
  await edit(path, io, ({ [name]: gone, ...others }) => {
    if (gone === undefined) throw new UsageError(`${path} has no server ${name}.`);
    return others;
  });
  out.print(`Removed ${name} from ${path}.\n`);
  return EXIT.done;
}

async function login({ io, folder, words, options, out, note, interruptions }: Given): Promise<number> {
  const [name, ...more] = words;
  if (name === undefined) throw new UsageError('Which server? treadle mcp login NAME');
  noMore(more, 'login NAME');
  const { config, problem } = known(
    await namedServers(folder, io, options.list('mcp-config') ?? [], note, await actingPlugins(io, note)),
    name,
  );
  if (config === null) throw new UsageError(`${name} can't be used: ${problem}.`);
  if (!('url' in config)) throw new UsageError(`${name} is started here, and takes no login.`);
  const { browserLogin, mcpServers } = await import('@treadle/mcp');
  const store = credentialsOf(io);
  // Another user of this machine is another login.
  await store.forget(config.url, 'tokens');
  const open = (page: string): void => out.print(`Open this page in a browser of this machine:\n${page}\n`);
  await using session = await browserLogin(config.url, store, { open }, config.oauth);
  const waiting = mcpServers({ [name]: { ...config, startupTimeoutMs: 330_000 } }, { auth: () => session });
  await using servers = await interruptions.unless(waiting);
  const [status] = servers.status;
  if (status?.state !== 'ready') {
    note(status?.problem ?? 'Nobody logged in.');
    return EXIT.error;
  }
  out.print(`Logged in to ${name}: ${status.tools} tools.\n`);
  return EXIT.done;
}

function known(all: readonly NamedServer[], name: string): NamedServer {
  const found = all.find((server) => server.name === name);
  if (found) return found;
  const names = all.map((server) => server.name);
  throw new UsageError(`There is no MCP server ${name}.${suggestion(name, names)} See: treadle mcp list`);
}

function noMore(words: readonly string[], usage: string): void {
  if (words.length > 0) throw new UsageError(`'${words.join(' ')}' is too much: treadle mcp ${usage}`);
}

function ownFile(io: Given['io']): string {
  const path = userFile(io);
  if (path === null) throw new UsageError('There is no home folder to keep servers in. Set HOME or XDG_CONFIG_HOME.');
  return path;
}

function pairs(given: readonly string[], between: string, flag: string): JsonObject | null {
  if (given.length === 0) return null;
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf(between);
      if (at < 1) throw new UsageError(`${flag} takes NAME${between}VALUE, and not '${text}'.`);
      return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    }),
  );
}

/** Changes the servers of a file; what else it says is kept. */
async function edit(path: string, io: Given['io'], change: (servers: JsonObject) => JsonObject): Promise<void> {
  const folder = join(path, '..');
  const work = async (): Promise<void> => {
    const text = (await readSettingsFile(path))?.text ?? '{}';
    let file: unknown;
    try {
      file = parseJson(text);
    } catch {
      throw new UsageError(`${path} is no JSON, or has comments: change it by hand.`);
    }
    if (!isJsonObject(file)) throw new UsageError(`${path} must be a JSON object.`);
    const { mcpServers = {} } = file;
    if (!isJsonObject(mcpServers)) throw new UsageError(`${path}: mcpServers must be an object.`);
    await writeWhole(path, `${JSON.stringify({ ...file, mcpServers: change(mcpServers) }, null, 2)}\n`);
  };
  // Others may write the user's file at the same time; a folder's is written by its user.
  await (path === userFile(io) ? alone(folder, work) : work());
}
