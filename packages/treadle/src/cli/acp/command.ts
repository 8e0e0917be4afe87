import { ndJsonStream } from '@agentclientprotocol/sdk';
import { errorText } from '@treadle/core';

import { hostname } from 'node:os';
import { Writable } from 'node:stream';

import { acpServer } from '../../acp/server.ts';
import { withUserVariables } from '../../settings/combine.ts';
import { keyGuard } from '../asking/keys.ts';
import { ACP_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT, SIGNAL_EXIT } from '../exit-codes.ts';
import { infoText } from '../help.ts';
import { printed } from '../io.ts';
import { parseOptions } from '../options.ts';
import { openBlobs } from '../parts.ts';
import { readRunRequest } from '../run/request.ts';
import { agentIdOf, folderOf, realFolder } from '../sessions/folder-sessions.ts';
import { UsageError } from '../usage-error.ts';
import { version } from '../version.ts';
import { placeFor } from './place.ts';

/** `treadle acp`: an agent for an editor, until it leaves or a signal comes. Returns the exit code. */
export async function acpCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const { io, parts, out, interruptions } = context;
  const options = parseOptions(args, ACP_OPTIONS);
  const info = infoText('acp', options);
  if (info !== null) return printed(out, info);
  const [extra] = options.positionals;
  if (extra !== undefined) throw new UsageError(`'${extra}' is too much: treadle acp takes no prompt.`);
  const request = readRunRequest(['--prompt', 'none', '--no-stdin', ...args]);
  const env = await withUserVariables(io);
  await io.hideEnvironment?.();
  const guard = await keyGuard(env);
  // Standard output is the protocol's.
  const note = (text: string): void => context.note(guard.text(text));
  const journal = guard.journal(await parts.journal(io));
  try {
    const server = acpServer({
      version: version(),
      journal,
      blobs: await openBlobs(io),
      owner: `treadle acp, process ${process.pid} on ${hostname()}`,
      agentIdOf,
      folderOf: (agentId) => folderOf({ agentId }),
      realFolder: (path) => realFolder(io.cwd, path),
      place: (opening) => placeFor({ ...context, note, guard }, { request, env, opening }),
      note,
    });
    // What isn't JSON is answered by the SDK, which also says so here.
    const input = ReadableStream.from(bytesOf(io.stdin));
    const connection = server.app.connect(ndJsonStream(Writable.toWeb(io.stdout), input));
    const signal = await Promise.race([connection.closed, interruptions.first]);
    await server.close().catch((error: unknown) => note(errorText(error)));
    return signal === undefined ? EXIT.done : SIGNAL_EXIT[signal];
  } finally {
    await journal.close();
  }
}

async function* bytesOf(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}
