import type { JsonObject } from '@treadle/core';

import { keyGuard } from '../cli/asking/keys.ts';
import { EXIT, SIGNAL_EXIT } from '../cli/exit-codes.ts';
import { watchSignals } from '../cli/interruptions.ts';
import { createPrinter, type CliIo } from '../cli/io.ts';
import { plainText } from '../cli/asking/plain-text.ts';
import { DEFAULT_PARTS, type CliParts } from '../cli/parts.ts';
import { UsageError } from '../cli/usage-error.ts';
import { version } from '../cli/version.ts';
import { FLAGS, readArguments, unknownFlag } from './arguments.ts';
import { createChannel } from './lines/channel.ts';
import { BadLine, lineWriter, readLines } from './lines/lines.ts';
import { createService } from './service.ts';
import { PROTOCOL_VERSION } from './protocol-version.ts';

const HELP = `treadle-agent-sdk ${PROTOCOL_VERSION} is an agent that clients of the Claude Agent SDK start by themselves.
Give its path as pathToClaudeCodeExecutable (TypeScript) or cli_path (Python). It reads and writes JSON lines.

Flags: ${Object.keys(FLAGS)
  .map((name) => `--${name}`)
  .join(' ')}
`;

/**
 * `treadle-agent-sdk`, from arguments to exit code. Nothing but whole JSON lines is written to standard output.
 *
 * @param argv the arguments after the program's name
 */
export async function main(argv: readonly string[], io: CliIo, parts: CliParts = DEFAULT_PARTS): Promise<number> {
  const out = createPrinter(io.stdout);
  const err = createPrinter(io.stderr);
  const note = (text: string): void => err.print(`treadle-agent-sdk: ${plainText(text)}\n`);
  const interruptions = watchSignals(io);
  try {
    const args = readArguments(argv);
    if (args.has('version') || args.has('help')) {
      out.print(args.has('help') ? HELP : `${PROTOCOL_VERSION} (Treadle ${version()})\n`);
      return EXIT.done;
    }
    for (const token of args.unknown) note(unknownFlag(token));
    for (const name of ['input-format', 'output-format'] as const) {
      const format = args.text(name) ?? 'stream-json';
      if (format !== 'stream-json') throw new UsageError(`--${name} takes stream-json, and not '${format}'.`);
    }
    return await serve();

    async function serve(): Promise<number> {
      const guard = await keyGuard(io.env);
      await io.hideEnvironment?.();
      const write = lineWriter(out);
      const say = (text: string): void => note(guard.text(text));
      const channel = createChannel(write, (request) => service.answer(request));
      const service = createService({ args, io, parts, guard, channel, write, note: say });
      const gone = Promise.withResolvers<number>();
      out.onClosed(() => {
        const leave = (): void => gone.resolve(EXIT.error);
        service.stop('The client went away.').then(leave, leave);
      });
      const stopped = interruptions.first.then(async (signal) => {
        await service.stop(`Interrupted by ${signal}.`);
        return SIGNAL_EXIT[signal];
      });
      return await Promise.race([converse(service, channel), stopped, gone.promise, service.broken]);
    }
  } catch (error) {
    const { errorText } = await import('@treadle/core');
    note(errorText(error));
    return error instanceof UsageError ? EXIT.usage : EXIT.error;
  } finally {
    await Promise.all([out.flushed(), err.flushed()]);
    interruptions.stop();
  }

  /** Reads lines until there are none, and lets what they have begun come to its end. */
  async function converse(
    service: ReturnType<typeof createService>,
    channel: ReturnType<typeof createChannel>,
  ): Promise<number> {
    try {
      for await (const line of readLines(io.stdin)) take(line);
    } catch (error) {
      // What the line was to say is not known, so nothing may go on as if it had not been said.
      if (error instanceof BadLine) await service.stop(error.message);
      throw error;
    } finally {
      channel.close();
    }
    await channel.settled();
    return (await service.finish()) ? EXIT.done : EXIT.error;

    function take(line: JsonObject): void {
      if (channel.take(line)) return;
      if (line['type'] === 'user') service.user(line);
      else note(`A line of the type ${JSON.stringify(line['type'] ?? null)} is passed over.`);
    }
  }
}
