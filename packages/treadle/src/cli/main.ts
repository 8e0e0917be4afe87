import { COMMANDS, findCommand } from './commands.ts';
import type { CommandContext } from './context.ts';
import { EXIT, SIGNAL_EXIT } from './exit-codes.ts';
import { helpText } from './help.ts';
import { Interrupted, watchSignals, type Interruptions } from './interruptions.ts';
import { createPrinter, type CliIo, type Printer } from './io.ts';
import { DEFAULT_PARTS, type CliParts } from './parts.ts';
import { plainText } from './plain-text.ts';
import { readRunRequest } from './run-request.ts';
import { suggestion, UsageError } from './usage-error.ts';
import { version } from './version.ts';

/**
 * The command line, from arguments to exit code. Everything printed has left the process when it resolves, and nothing
 * is thrown: what goes wrong is said on standard error.
 *
 * @param argv the arguments after the program's name
 */
export async function main(argv: readonly string[], io: CliIo, parts: CliParts = DEFAULT_PARTS): Promise<number> {
  const out = createPrinter(io.stdout);
  const err = createPrinter(io.stderr);
  const note = (text: string): void => err.print(`treadle: ${plainText(text)}\n`);
  const interruptions = watchSignals(io);
  try {
    return await dispatch(argv, { io, parts, out, note, interruptions });
  } catch (error) {
    return await explain(error, out, note);
  } finally {
    await flush(io, [out, err], interruptions);
    interruptions.stop();
  }
}

/** Milliseconds that an interrupted process waits for its output to be read. */
const LAST_WORDS_MS = 1000;

/** Waits until everything printed has left; not forever once a signal has come. */
async function flush(io: CliIo, printers: readonly Printer[], { first }: Interruptions): Promise<void> {
  const flushed = Promise.all(printers.map((printer) => printer.flushed()));
  const late = first.then(() => new Promise<void>((resolve) => void io.after(LAST_WORDS_MS, resolve)));
  await Promise.race([flushed, late]);
}

async function dispatch(argv: readonly string[], context: CommandContext): Promise<number> {
  const command = findCommand(argv);
  switch (command.name) {
    case 'unknown':
      throw new UsageError(
        `Unknown command '${command.word}'.${suggestion(command.word, COMMANDS)} ` +
          `If it is a prompt, write: treadle run "${[command.word, ...argv.slice(1)].join(' ')}"`,
      );
    case 'help':
      context.out.print(helpText(command.args[0]));
      return EXIT.done;
    case 'sessions': {
      const { sessionsCommand } = await import('./sessions.ts');
      return sessionsCommand(context, command.args);
    }
    case 'run': {
      const request = readRunRequest(command.args);
      if (request.help || request.version) {
        context.out.print(request.help ? helpText('run') : `${version()}\n`);
        return EXIT.done;
      }
      // Loaded on use: asking for the version is quick.
      const { runCommand } = await import('./run.ts');
      return runCommand(context, request);
    }
  }
}

/** What the user did wrong, or asked for in vain, is theirs to mend: it exits as usage. */
const USERS_OWN: ReadonlySet<string> = new Set(['invalid_definition', 'session_not_found', 'empty_prompt']);

async function explain(error: unknown, out: Printer, note: (text: string) => void): Promise<number> {
  if (error instanceof Interrupted) return SIGNAL_EXIT[error.signal];
  if (error instanceof UsageError) {
    note(error.message);
    return EXIT.usage;
  }
  if (out.isClosed) return EXIT.closedPipe;
  const { errorText, TreadleError } = await import('@treadle/core');
  if (error instanceof TreadleError) {
    note(error.message);
    return USERS_OWN.has(error.code) ? EXIT.usage : EXIT.error;
  }
  // The system's own errors (no space, no permission) say enough; anything else is a defect, and its place helps.
  const isSystems = error instanceof Error && 'code' in error;
  note(isSystems || !(error instanceof Error) ? errorText(error) : (error.stack ?? errorText(error)));
  return EXIT.error;
}
