import { ndJsonStream } from '@agentclientprotocol/sdk';
import { errorText } from '@treadle/core';

import { hostname } from 'node:os';
import { Writable } from 'node:stream';

import { acpServer } from '../../acp/server.ts';
import { withUserVariables } from '../../settings/combine.ts';
import { readLogin } from '../../settings/login-file.ts';
import { keyGuard } from '../asking/keys.ts';
import { ACP_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT, SIGNAL_EXIT } from '../exit-codes.ts';
import { infoText } from '../help.ts';
import { printed } from '../io.ts';
import { parseOptions } from '../options.ts';
import { openBlobs } from '../parts.ts';
import { chooseModel } from '../run/choose-model.ts';
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
  if (options.flag('login')) return (await import('../login/command.ts')).loginCommand(context, []);
  const [extra] = options.positionals;
  if (extra !== undefined) throw new UsageError(`'${extra}' is too much: treadle acp takes no prompt.`);
  const request = readRunRequest(['--prompt', 'none', '--no-stdin', ...args]);
  let env = await withUserVariables(io);
  await io.hideEnvironment?.();
  let guard = await keyGuard(env);
  // Standard output is the protocol's.
  const note = (text: string): void => context.note(guard.text(text));
  const plain = await parts.journal(io);
  let journal = guard.journal(plain);
  /** A key that a login has added meanwhile. */
  const renew = async (): Promise<void> => {
    const now = await withUserVariables(io);
    const next = await keyGuard(now);
    if (JSON.stringify(next.keys) === JSON.stringify(guard.keys)) return;
    [env, guard, journal] = [now, next, next.journal(plain)];
  };
  try {
    const server = acpServer({
      version: version(),
      get journal() {
        return journal;
      },
      blobs: await openBlobs(io),
      owner: `treadle acp, process ${process.pid} on ${hostname()}`,
      agentIdOf,
      folderOf: (agentId) => folderOf({ agentId }),
      realFolder: (path) => realFolder(io.cwd, path),
      async place(opening) {
        await renew();
        return placeFor({ ...context, note, guard }, { request, env, opening });
      },
      async loginProblem() {
        await renew();
        const choice = chooseModel(request.model, env, (await readLogin(io)).model);
        if (choice.isUnset) return 'There is no key of a provider. Run treadle login, or set ANTHROPIC_API_KEY.';
        return parts.model(choice.name, env).then(() => null, errorText);
      },
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
