import { mcpServer, serveMcp, type AgentPrompt } from '@treadle/mcp';

import { openBlobs } from '../parts.ts';
import { MCP_SERVE_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT, SIGNAL_EXIT } from '../exit-codes.ts';
import { helpText } from '../help.ts';
import { keyGuard } from '../asking/keys.ts';
import { parseOptions } from '../options.ts';
import { commandsOf } from '../run/prompt-commands.ts';
import { agentOf } from '../serve/command.ts';
import { realFolder } from '../sessions/folder-sessions.ts';
import { UsageError } from '../usage-error.ts';
import { version } from '../version.ts';
import { chosenModel } from '../login/first-run.ts';

/** `treadle mcp serve`: the agent of a folder for MCP clients, until they leave or a signal comes. Returns the exit code. */
export async function mcpServeCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const { io, parts, out, interruptions } = context;
  const options = parseOptions(args, MCP_SERVE_OPTIONS);
  if (options.flag('help') || options.flag('version')) {
    out.print(options.flag('help') ? helpText('mcp') : `${version()}\n`);
    return EXIT.done;
  }
  const [extra] = options.positionals;
  if (extra !== undefined) throw new UsageError(`'${extra}' is too much: treadle mcp serve takes no prompt.`);
  const isHttp = options.flag('http');
  for (const flag of ['host', 'port'] as const) {
    if (!isHttp && options.text(flag) !== undefined) throw new UsageError(`--${flag} goes with --http.`);
  }
  const folder = await realFolder(io.cwd, options.text('cwd') ?? '.');
  const { choice, env } = await chosenModel(context, options.text('model'));
  await io.hideEnvironment?.();
  const guard = await keyGuard(env);
  // Standard output is the protocol's.
  const note = (text: string): void => context.note(guard.text(text));
  const id = `mcp:${folder}`;
  const { agent, rights } = await agentOf(
    { ...context, note, guard },
    // No servers: one of them may be this very command.
    { id, folder, choice, env, title: false, mcpConfig: null, skills: [] },
  );
  const journal = guard.journal(await parts.journal(io));
  try {
    const description = `Works in the folder ${folder}: reads and changes files, runs commands, answers questions about it.`;
    const server = mcpServer(agent, {
      journal,
      blobs: await openBlobs(io),
      name: 'treadle',
      version: version(),
      description,
      prompts: await promptsOf({ io, folder, isTrusted: rights.isTrusted, plugins: rights.plugins }),
    });
    if (!isHttp) {
      const signal = await Promise.race([server.serveStdio(), interruptions.first]);
      await server.close();
      return signal === undefined ? EXIT.done : SIGNAL_EXIT[signal];
    }
    const { TREADLE_TOKEN: own } = env;
    const host = options.text('host');
    const port = options.count('port');
    await using serving = await serveMcp(server, {
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port }),
      ...(own ? { token: own } : {}),
    });
    out.print(`${serving.url}\n`);
    if (!own) out.print(`Token, shown only now: ${serving.token}\n`);
    return SIGNAL_EXIT[await interruptions.first];
  } finally {
    await journal.close();
  }
}

/** The commands of a folder's user as prompts. Their arguments have the names of their hints, such as `[file] [words]`. */
async function promptsOf(place: Parameters<typeof commandsOf>[0]): Promise<readonly AgentPrompt[]> {
  const { commands } = await commandsOf(place);
  return commands.map(({ name, description, argumentHint, expand }) => {
    const hints = [...argumentHint.matchAll(/[[<]([^\]>]+)[\]>]/g)].map(([, hint = '']) => hint.trim());
    const names = hints.length > 0 ? [...new Set(hints)] : ['arguments'];
    return {
      name,
      description,
      arguments: names.map((each) => ({ name: each })),
      text: (values) =>
        expand(
          hints.length > 0 ? names.map((each) => quoted(values[each] ?? '')).join(' ') : (values['arguments'] ?? ''),
        ),
    };
  });
}

/** A word of a command's arguments. */
const quoted = (value: string): string => {
  if (value !== '' && !/[\s"']/.test(value)) return value;
  return value.includes('"') ? `'${value.replaceAll("'", ' ')}'` : `"${value}"`;
};
