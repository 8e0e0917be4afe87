import { COMMANDS, findCommand } from './commands.ts';
import type { CommandContext } from './context.ts';
import { EXIT, SIGNAL_EXIT } from './exit-codes.ts';
import { helpText } from './help.ts';
import { Interrupted, watchSignals, type Interruptions } from './interruptions.ts';
import { createPrinter, printed, type CliIo, type Printer } from './io.ts';
import { DEFAULT_PARTS, type CliParts } from './parts.ts';
import { plainText } from './asking/plain-text.ts';
import { readRunRequest, type RunRequest } from './run/request.ts';
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
  const note = (text: string): void => {
    // On a terminal both are one screen, and the model may be in the middle of a line.
    if (out.isTTY && err.isTTY) out.endLine();
    err.print(`treadle: ${plainText(text)}\n`);
  };
  const interruptions = watchSignals(io);
  try {
    const code = await dispatch(argv, { io, parts, out, err, note, interruptions }).catch((error: unknown) =>
      explain(error, out, note),
    );
    // One deadline for both streams.
    const late = lateAfterSignal(io, interruptions);
    await Promise.race([out.flushed(), late]);
    const last = afterOutput(code, out, note);
    await Promise.race([err.flushed(), late]);
    return last;
  } finally {
    interruptions.stop();
  }
}

/** The exit code, once it is known whether what was printed has arrived. */
function afterOutput(code: number, out: Printer, note: (text: string) => void): number {
  if (!out.isClosed || INTERRUPTED.has(code)) return code;
  if (out.failure === null) return code === EXIT.usage || code === EXIT.error ? code : EXIT.closedPipe;
  note(`The output could not be written: ${out.failure.message}.`);
  return code === EXIT.usage ? code : EXIT.error;
}

const INTERRUPTED: ReadonlySet<number> = new Set(Object.values(SIGNAL_EXIT));

/** Milliseconds that an interrupted process waits for its output to be read. */
const LAST_WORDS_MS = 1000;

/** Resolves some time after the first signal: everything printed should leave the process, but not wait forever then. */
function lateAfterSignal(io: CliIo, { first }: Interruptions): Promise<void> {
  return first.then(() => new Promise<void>((resolve) => void io.after(LAST_WORDS_MS, resolve)));
}

/** Words in quotes as one prompt, and the options behind them. */
function asPrompt(argv: readonly string[]): string {
  const option = argv.findIndex((word) => word.startsWith('-'));
  const words = option === -1 ? argv : argv.slice(0, option);
  const options = argv.slice(words.length).map((word) => (/\s/.test(word) ? `"${word}"` : word));
  return [`"${words.join(' ')}"`, ...options].join(' ');
}

async function dispatch(argv: readonly string[], context: CommandContext): Promise<number> {
  const command = findCommand(argv);
  switch (command.name) {
    case 'unknown':
      throw new UsageError(
        `Unknown command '${command.word}'.${suggestion(command.word, COMMANDS)} ` +
          `If it is a prompt, write: treadle run ${asPrompt(argv)}`,
      );
    case 'help':
      return printed(context.out, helpText(command.args[0]));
    // Loaded on use: asking for the version is quick.
    case 'sessions':
      return (await import('./sessions/command.ts')).sessionsCommand(context, command.args);
    case 'serve':
      return (await import('./serve/command.ts')).serveCommand(context, command.args);
    case 'acp':
      return (await import('./acp/command.ts')).acpCommand(context, command.args);
    case 'mcp':
      return (await import('./mcp/command.ts')).mcpCommand(context, command.args);
    case 'skills':
      return (await import('./skills/command.ts')).skillsCommand(context, command.args);
    case 'plugins':
      return (await import('./plugins/command.ts')).pluginsCommand(context, command.args);
    case 'models':
      return (await import('./models/command.ts')).modelsCommand(context, command.args);
    case 'attach':
      return (await import('./attach/command.ts')).attachCommand(context, command.args);
    case 'login':
      return (await import('./login/command.ts')).loginCommand(context, command.args);
    case 'logout':
      return (await import('./login/command.ts')).logoutCommand(context, command.args);
    case 'doctor':
      return (await import('./doctor/command.ts')).doctorCommand(context, command.args);
    case 'run': {
      const request = readRunRequest(command.args);
      if (request.help) return printed(context.out, helpText('run'));
      if (request.version) return printed(context.out, `${version()}\n`);
      const own = request.plain ? plainly(context) : context;
      if (isInteractive(own, request)) {
        const code = await (await import('./interactive/command.ts')).interactiveCommand(own, request);
        if (code !== null) return code;
      }
      if (request.session.kind === 'choose')
        throw new UsageError('Which session? treadle sessions list shows them: treadle -r ID "prompt"');
      return (await import('./run/command.ts')).runCommand(own, request);
    }
  }
}

/** Whether somebody at a terminal has given no prompt. */
const isInteractive = ({ io, out }: CommandContext, request: RunRequest): boolean =>
  request.prompt === null &&
  request.format === 'text' &&
  request.branches === null &&
  request.stdin !== 'always' &&
  io.stdin.isTTY === true &&
  (out.isTTY || request.plain);

/** As on a terminal that only prints: every part that colours or moves asks for the terminal's name. */
const plainly = (context: CommandContext): CommandContext => ({
  ...context,
  io: { ...context.io, env: { ...context.io.env, TERM: 'dumb' } },
});

/** What the user did wrong, or asked for in vain, is theirs to mend: it exits as usage. */
const USERS_OWN: ReadonlySet<string> = new Set([
  'invalid_definition',
  'session_not_found',
  'empty_prompt',
  'invalid_attachment',
]);

async function explain(error: unknown, out: Printer, note: (text: string) => void): Promise<number> {
  if (error instanceof Interrupted) return SIGNAL_EXIT[error.signal];
  if (error instanceof UsageError) {
    note(error.message);
    return EXIT.usage;
  }
  if (out.isClosed) return EXIT.closedPipe;
  const { errorText, TreadleError } = await import('@treadle/core');
  if (error instanceof TreadleError) {
    note(
      error.code === 'session_not_found'
        ? `${error.message} treadle sessions list shows those there are.`
        : error.message,
    );
    return USERS_OWN.has(error.code) ? EXIT.usage : EXIT.error;
  }
  // The system's own errors (no space, no permission) say enough; anything else is a defect, and its place helps.
  const isSystems = error instanceof Error && 'code' in error;
  note(isSystems || !(error instanceof Error) ? errorText(error) : (error.stack ?? errorText(error)));
  return EXIT.error;
}
