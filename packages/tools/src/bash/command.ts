import type { Clock } from '@treadle/core';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { access, constants } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { outputsOf, processTree, tagVariable, type ProcessTree } from './processes.ts';

export interface CommandRequest {
  readonly file: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Between asking processes to end and killing them. */
  readonly graceMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Written to its standard input, which is then closed; without it the input is closed from the start. */
  readonly input?: string;
  /** What it reads from the descriptors 4, 5 and so on, which are then closed. */
  readonly handed?: readonly Uint8Array[];
  /** True when the program keeps others in a namespace of processes, see `ProcessMarks`. */
  readonly keepers?: boolean;
  /** Awaited before more is read. `stop` ends the command because of what it printed. */
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Buffer, stop: () => void) => Promise<void> | void;
}

export interface CommandEnd {
  /** Null when a signal ended it, or when it never started. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it was stopped; undefined when it ended by itself. */
  readonly stopped: 'timeout' | 'aborted' | 'output' | undefined;
  readonly durationMs: number;
  /** Processes it had left running, which were ended. */
  readonly leftBehind: number;
}

/** Output that is on its way when a program ends normally arrives within this time. */
const drainMs = 200;
/** With every writer gone, only a slow disk under the spill file takes longer than an instant. */
const lastDrainMs = 2000;
const pollMs = 10;
/** A process that survives SIGKILL hangs in the kernel; it is not waited for any longer than this. */
const giveUpMs = 5000;
const killRounds = 100;
const nothing: ReadonlySet<string> = new Set();

/**
 * Runs a program to its end, or until it is stopped. When it returns, no process that the
 * program started (and that can be found, see `processTree`) is alive. Rejects when the program can't be started.
 */
export async function runCommand(request: CommandRequest): Promise<CommandEnd> {
  const { clock, signal, graceMs } = request;
  const startedAt = clock.now();
  const tag = randomUUID();
  const child = await start(request, tag);
  const streams = [child.stdout, child.stderr];
  // Looking through all open files of all processes is only worth it while somebody keeps a stream open.
  const outputs = (): ReadonlySet<string> => (streams.every((one) => one.readableEnded) ? nothing : child.outputs);
  const tree = processTree({ leader: child.pid, tag, outputs, keepers: request.keepers === true });
  const exited = once(child.process, 'exit') as Promise<unknown> as Promise<Exit>;
  let stopped: CommandEnd['stopped'];
  let cancelKill = (): void => {};
  const unkillable = Promise.withResolvers<Exit>();
  const stop = (reason: NonNullable<CommandEnd['stopped']>): void => {
    if (stopped !== undefined) return;
    stopped = reason;
    void tree.signal('SIGTERM');
    cancelKill = clock.after(graceMs, () => {
      void tree.signal('SIGKILL');
      cancelKill = clock.after(giveUpMs, () => unkillable.resolve([null, null]));
    });
  };
  const cancelTimeout = clock.after(request.timeoutMs, () => stop('timeout'));
  const onAbort = (): void => stop('aborted');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const drained = Promise.all(
    (['stdout', 'stderr'] as const).map((name) =>
      drain(child[name], (bytes) => request.onOutput(name, bytes, () => stop('output'))),
    ),
  );
  // Looked at below; until then a failure must not count as unhandled.
  drained.catch(() => {});
  try {
    const [exitCode, exitSignal] = await Promise.race([exited, unkillable.promise]);
    cancelTimeout();
    signal.removeEventListener('abort', onAbort);
    await within(clock, drainMs, drained);
    const leftBehind = await endLeftovers(tree, clock, graceMs);
    await within(clock, lastDrainMs, drained);
    for (const stream of streams) stream.destroy();
    await drained;
    return { exitCode, signal: exitSignal, stopped, durationMs: clock.now() - startedAt, leftBehind };
  } finally {
    cancelTimeout();
    cancelKill();
    signal.removeEventListener('abort', onAbort);
    for (const stream of streams) stream.destroy();
  }
}

interface Started {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly outputs: ReadonlySet<string>;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * Waits until its outputs have been looked at, then becomes the program. A program that ends at once would otherwise be gone
 * before, when this process has to wait for its turn, and a daemon of its that keeps an output could not be found.
 */
const gate = 'read -r go <&3 || exit 125; exec 3<&-; unset go; exec "$@"';

async function start(request: CommandRequest, tag: string): Promise<Started> {
  const outer = request.environment[tagVariable];
  const { handed = [] } = request;
  // The gate could not say that there is no such program: a shell's exit code may be anything else's.
  const isGated = process.platform !== 'win32' && isAbsolute(request.file);
  if (isGated) await access(request.file, constants.X_OK);
  const [file, args] = isGated
    ? (['/bin/sh', ['-c', gate, 'sh', request.file, ...request.args]] as const)
    : ([request.file, request.args] as const);
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: request.folder,
      // A command inside a command keeps the outer tag too, so that either can find its processes.
      env: { ...request.environment, [tagVariable]: outer === undefined ? tag : `${outer},${tag}` },
      stdio: [
        request.input === undefined ? 'ignore' : 'pipe',
        'pipe',
        'pipe',
        isGated ? 'pipe' : 'ignore',
        ...handed.map(() => 'pipe' as const),
      ],
      detached: true,
    });
    const { pid, stdin, stdout, stderr } = child;
    const [, , , opener, ...takers] = child.stdio;
    for (const [index, taker] of takers.entries()) feed(taker, handed[index]);
    feed(stdin, request.input);
    const outputs = pid === undefined ? nothing : outputsOf(pid);
    feed(opener, '\n');
    child.once('error', reject);
    child.once('spawn', () => {
      if (pid === undefined || stdout === null || stderr === null)
        reject(new Error(`${request.file} was started without a process id`));
      else resolve({ process: child, pid, outputs, stdout, stderr });
    });
  });
}

type Exit = readonly [exitCode: number | null, signal: NodeJS.Signals | null];

/** A program may end without having read what it is given; its exit says what came of that. */
function feed(stream: Readable | Writable | null | undefined, bytes: string | Uint8Array | undefined): void {
  if (!stream || !('end' in stream)) return;
  stream.on('error', () => {});
  stream.end(bytes);
}

async function drain(stream: Readable, take: (bytes: Buffer) => Promise<void> | void): Promise<void> {
  try {
    for await (const chunk of stream) if (Buffer.isBuffer(chunk)) await take(chunk);
  } catch (error) {
    // Destroyed by us, when something that could not be ended kept the pipe open.
    if (!stream.destroyed) throw error;
  }
}

/** Waits for `work` for at most `ms` milliseconds. */
async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const timer = Promise.withResolvers<void>();
  const cancel = clock.after(ms, timer.resolve);
  try {
    await Promise.race([work, timer.promise]);
  } finally {
    cancel();
  }
}

/** Ends what still runs: politely for `graceMs`, then by SIGKILL, again and again until nothing new turns up. */
async function endLeftovers(tree: ProcessTree, clock: Clock, graceMs: number): Promise<number> {
  const found = await tree.count();
  if (found === 0) return 0;
  await tree.signal('SIGTERM');
  const killAt = clock.now() + graceMs;
  for (let round = 0; round < killRounds && (await tree.count()) > 0;) {
    if (clock.now() >= killAt) {
      await tree.signal('SIGKILL');
      round += 1;
    }
    await within(clock, pollMs, new Promise(() => {}));
  }
  return found;
}
