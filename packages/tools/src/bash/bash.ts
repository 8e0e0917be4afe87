import { errorText, type Clock, type ToolContext, type ToolResult } from '@treadle/core';
import { randomBytes } from 'node:crypto';
import { stopIfAborted, withProblems } from '../files/outcome.ts';
import { FileProblem } from '../root/problem.ts';
import type { Root } from '../root/root.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { SandboxedCommand } from '../sandbox/wrap.ts';
import { safeText } from '../text/safe-text.ts';
import { commandAccess } from './allow/command-access.ts';
import { capture, type Capture, type Captured } from './capture.ts';
import { runCommand, type CommandEnd } from './command.ts';
import { deniedBy, type DenyPattern } from './deny.ts';
import { report } from './report.ts';
import { keepSpill, openSpill } from './spill.ts';

export interface BashArguments {
  readonly command: string;
  readonly timeout_ms?: number;
}

/** What commands may take. Times are milliseconds, sizes bytes. */
export interface BashLimits {
  /** When the call doesn't say. Default 120 s. */
  readonly timeoutMs?: number;
  /** The longest a call may ask for. Default 600 s. */
  readonly maxTimeoutMs?: number;
  /** Between SIGTERM and SIGKILL. Default 500. */
  readonly graceMs?: number;
  /** Of each stream, shown to the model: half from its beginning, half from its end. Default 256 KB. */
  readonly keepBytes?: number;
  /** Of each stream, kept in the spill file; a command that prints more is killed. Default 50 MB. */
  readonly maxOutputBytes?: number;
  /** Where long outputs go, relative to the root. Default `.treadle/output`. */
  readonly spillFolder?: string;
  /** Commands that are refused; replaces {@link defaultDenyPatterns}. Advice to the model, not a boundary. */
  readonly denyPatterns?: readonly DenyPattern[];
}

/** The settings of a bash tool, every default filled in. */
export interface BashSettings extends Required<BashLimits> {
  readonly root: Root;
  readonly environment: Readonly<Record<string, string>>;
  /** The absolute path of the shell; rejects when there is none. */
  readonly shell: () => Promise<string>;
  readonly clock: Clock;
  /** Undefined when commands are not to be sandboxed. */
  readonly sandbox: Sandbox | undefined;
}

const updateEveryMs = 500;
const updateBytes = 4096;
/** Somebody looks at a background task now and then, and wants to see more than its last lines. */
const backgroundUpdateBytes = 16_384;

export function bash(args: BashArguments, context: ToolContext, settings: BashSettings): Promise<ToolResult> {
  return withProblems(async () => {
    check(args.command, settings.denyPatterns);
    stopIfAborted(context.signal, 'The command');
    const captures = captureStreams(settings);
    const updates = updater(context, captures.stdout, captures.stderr, settings.clock);
    const timeoutMs = timeoutOf(args, context, settings);
    const plain = [await shellOf(settings), '-c', args.command] as const;
    const sandboxed =
      context.confined === true
        ? await confinedCommand(plain, args.command, settings)
        : await sandboxedCommand(plain, settings);
    let end: CommandEnd;
    let stdout: Captured;
    let stderr: Captured;
    try {
      end = await runCommand({
        file: sandboxed?.file ?? plain[0],
        args: sandboxed?.args ?? plain.slice(1),
        keepers: sandboxed !== undefined,
        handed: sandboxed?.handed ?? [],
        folder: settings.root.path,
        environment: sandboxed?.environment ?? settings.environment,
        timeoutMs,
        graceMs: settings.graceMs,
        signal: context.signal,
        clock: settings.clock,
        async onOutput(stream, bytes, stop) {
          if (!(await captures[stream].push(bytes))) stop();
          updates.changed();
        },
      });
    } catch (error) {
      throw notStarted(error);
    } finally {
      updates.end();
      await sandboxed?.release();
      [stdout, stderr] = await Promise.all([captures.stdout.finish(), captures.stderr.finish()]);
    }
    const shortened = args.timeout_ms !== undefined && args.timeout_ms > timeoutMs;
    const facts = { timeoutMs, shortened, maxBytes: settings.maxOutputBytes, sandboxed: sandboxed !== undefined };
    const { blobs } = context;
    const wholes = blobs && [
      await keepSpill(blobs, settings.root, stdout),
      await keepSpill(blobs, settings.root, stderr),
    ];
    return report(end, stdout, stderr, facts, wholes);
  });
}

/** Nobody waits for what runs in the background: it may take as long as its session lives. */
function timeoutOf(args: BashArguments, { taskId }: ToolContext, settings: BashSettings): number {
  if (taskId !== undefined) return args.timeout_ms ?? Infinity;
  return Math.min(args.timeout_ms ?? settings.timeoutMs, settings.maxTimeoutMs);
}

const notStarted = (error: unknown): FileProblem =>
  new FileProblem('io', `The command could not be started: ${errorText(error)}`, error);

async function shellOf(settings: BashSettings): Promise<string> {
  try {
    return await settings.shell();
  } catch (error) {
    throw notStarted(error);
  }
}

interface Sandboxed extends SandboxedCommand {
  readonly environment?: Readonly<Record<string, string>>;
}

/** Undefined where there is no sandbox and none is required: then only permissions stand before the command. */
async function sandboxedCommand(command: readonly string[], { sandbox }: BashSettings): Promise<Sandboxed | undefined> {
  if (sandbox === undefined) return undefined;
  const { works, reason } = await sandbox.status();
  if (works) return sandbox.wrap(command);
  if (!sandbox.settings.required) return undefined;
  throw new FileProblem('sandbox', `The command was refused, not run: it may only run in a sandbox, and ${reason}.`);
}

/** The command where it may only read. What it may see is found out again: files may have changed since it was decided on. */
async function confinedCommand(
  command: readonly string[],
  text: string,
  { sandbox, root, environment }: BashSettings,
): Promise<Sandboxed> {
  const { readOnly, view, reason } = await commandAccess(text, { root: root.path, environment });
  if (!readOnly || sandbox === undefined) {
    throw new FileProblem(
      'sandbox',
      `The command was refused, not run: it was allowed because it only reads, and now ${reason ?? 'there is no sandbox'}.`,
    );
  }
  return sandbox.confine(command, view, environment);
}

function check(command: string, patterns: readonly DenyPattern[]): void {
  if (command.trim() === '') throw new FileProblem('bad_request', 'The command is empty.');
  if (command.includes('\0')) throw new FileProblem('bad_request', 'The command contains a NUL character.');
  const denied = deniedBy(command, patterns);
  if (denied !== undefined) throw new FileProblem('denied', `The command was refused, not run: ${denied.reason}.`);
}

function captureStreams(settings: BashSettings): Readonly<Record<'stdout' | 'stderr', Capture>> {
  const id = randomBytes(6).toString('hex');
  const captureOne = (stream: 'stdout' | 'stderr'): Capture =>
    capture({
      keepBytes: settings.keepBytes,
      maxBytes: settings.maxOutputBytes,
      openSpill: () => openSpill(settings.root, settings.spillFolder, `bash-${id}-${stream}.txt`),
    });
  return { stdout: captureOne('stdout'), stderr: captureOne('stderr') };
}

interface Updater {
  /** There is new output. */
  changed(): void;
  /** The command has ended: its result says the rest. */
  end(): void;
}

/** Streams the latest output as a partial result, a few times a second at most. What comes before a silence is shown too. */
function updater(context: ToolContext, stdout: Capture, stderr: Capture, clock: Clock): Updater {
  let last = clock.now();
  let cancel: (() => void) | null = null;
  const bytes = context.taskId === undefined ? updateBytes : backgroundUpdateBytes;
  const show = (): void => {
    cancel = null;
    last = clock.now();
    const parts = [stdout, stderr].map((one) => safeText(one.recent(bytes).toString('utf8')));
    context.update(parts.filter((part) => part !== '').join('\n'));
  };
  return {
    changed() {
      const wait = last + updateEveryMs - clock.now();
      if (wait <= 0) {
        cancel?.();
        show();
      } else cancel ??= clock.after(wait, show);
    },
    end: () => cancel?.(),
  };
}
