import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type DurableEvent, type Journal, errorText } from '@treadle/core';
import { askWorld, ownOf, watchedJournal, type CrashLife, type CrashWorld } from './life.ts';

/** A program in whose processes lives are lived that end by SIGKILL. It calls `crashProcess`. */
export interface CrashProcess {
  /** Its module. */
  readonly module: string | URL;
  /** Options of Node for it, such as `--conditions=...`. Default: those of this process. */
  readonly execArgv?: readonly string[];
  /** Handed to `open` there. JSON. */
  readonly input?: unknown;
}

type ToChild =
  | { readonly type: 'start'; readonly number: number; readonly input: unknown; readonly log: readonly DurableEvent[] }
  | { readonly type: 'go'; readonly id: number; readonly value?: unknown; readonly error?: string };

type FromChild =
  | { readonly type: 'pass'; readonly id: number; readonly name: string }
  | { readonly type: 'ask'; readonly id: number; readonly name: string; readonly args: readonly unknown[] }
  | { readonly type: 'acknowledged'; readonly event: DurableEvent }
  | { readonly type: 'ended'; readonly error?: string };

/** What became of a life in a process of its own. */
export interface ProcessLife {
  readonly passed: readonly string[];
  readonly isDead: boolean;
  /** What it failed with; null when it ended well, or was killed. */
  readonly failure: string | null;
}

/** Processes that have been started and wait for their life: a start takes longer than most lives. */
const spares = new Map<string, ChildProcess>();

function started({ module, execArgv = process.execArgv }: CrashProcess): ChildProcess {
  const path = typeof module === 'string' ? module : fileURLToPath(module);
  const start = (): ChildProcess =>
    fork(path, { execArgv: [...execArgv], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const child = spares.get(path) ?? start();
  spares.set(path, start());
  return child;
}

/** Ends the processes that wait for a life. */
export async function dismissSpares(): Promise<void> {
  const children = [...spares.values()];
  spares.clear();
  await Promise.all(
    children.map(async (child) => {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await exited;
    }),
  );
}

/** Lives a life in a process of its own, up to the moment at which it is killed. */
export function liveInProcess(
  options: CrashProcess & {
    readonly number: number;
    readonly deathAt: number;
    readonly acknowledged: Map<number, DurableEvent>;
    readonly world: CrashWorld;
    readonly patienceMs: number;
  },
): Promise<ProcessLife> {
  const { number, deathAt, acknowledged, world, input } = options;
  const child = started(options);
  const passed: string[] = [];
  let isDead = false;
  let failure: string | null = 'The process ended by itself.';
  const tell = (message: ToChild): void => void child.send(message, () => {});

  function hear(message: FromChild): void {
    if (isDead) return;
    if (message.type === 'acknowledged') acknowledged.set(message.event.seq, message.event);
    else if (message.type === 'ended') {
      failure = message.error ?? null;
      child.disconnect();
    } else if (message.type === 'ask') {
      askWorld(world, message.name, message.args).then(
        (value) => tell({ type: 'go', id: message.id, value }),
        (error: unknown) => tell({ type: 'go', id: message.id, error: errorText(error) }),
      );
    } else {
      isDead = passed.length === deathAt;
      passed.push(message.name);
      if (isDead) child.kill('SIGKILL');
      else tell({ type: 'go', id: message.id });
    }
  }

  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      failure = 'The process hangs.';
      child.kill('SIGKILL');
    }, options.patienceMs);
    child.on('message', (message) => hear(message as FromChild));
    child.once('exit', () => {
      clearTimeout(timer);
      resolve({ passed, isDead, failure: isDead ? null : failure });
    });
    tell({ type: 'start', number, input, log: [...acknowledged.values()] });
  });
}

/**
 * The whole of a program whose processes `crashMatrix` kills: it waits for its part of a course, opens the store, and does
 * what `live` says. At each moment it waits for leave to go on.
 */
export async function crashProcess(part: {
  /** Opens the store, given the `input` of the `CrashProcess`. */
  open(input: unknown): Promise<Journal>;
  live(life: CrashLife): Promise<void>;
}): Promise<void> {
  const waiting = new Map<number, (message: ToChild & { type: 'go' }) => void>();
  let asked = 0;
  const say = (message: FromChild): void => void process.send?.(message);
  const ask = (message: { type: 'pass'; name: string } | { type: 'ask'; name: string; args: readonly unknown[] }) =>
    new Promise<unknown>((resolve, reject) => {
      const id = (asked += 1);
      waiting.set(id, ({ value, error }) => (error === undefined ? resolve(value) : reject(new Error(error))));
      say({ ...message, id });
    });

  // Nobody is left to tell it anything, or to be told.
  process.once('disconnect', () => process.exit());
  const { number, input, log } = await new Promise<ToChild & { type: 'start' }>((resolve) => {
    process.on('message', (message: ToChild) => {
      if (message.type === 'start') resolve(message);
      else {
        waiting.get(message.id)?.(message);
        waiting.delete(message.id);
      }
    });
  });
  const acknowledged = new Map(log.map((event) => [event.seq, event]));
  const pass = async (name: string): Promise<void> => void (await ask({ type: 'pass', name }));
  const around = async <Value>(name: string, act: () => Value | PromiseLike<Value>): Promise<Value> => {
    await pass(`before ${name}`);
    const value = await act();
    await pass(`after ${name}`);
    return value;
  };
  const journal = await part.open(input);
  const watched = watchedJournal(journal, around, (event) => {
    acknowledged.set(event.seq, event);
    say({ type: 'acknowledged', event });
  });
  const life: CrashLife = {
    number,
    journal: watched,
    acknowledged,
    ...ownOf(number),
    pass,
    effect: around,
    ask: (name, ...args) => ask({ type: 'ask', name, args }),
  };
  try {
    await part.live(life);
    await journal.close();
    say({ type: 'ended' });
  } catch (error) {
    say({ type: 'ended', error: errorText(error) });
  }
}
