// What the processes of the `serve` metric tell each other.

/** Who serves: Treadle, or a Hono server that writes the same bytes and does nothing else. */
export type ServerName =
  | 'treadle'
  /** Treadle with the runs of `own` and nobody who watches: what is a run's own, and no stream's. */
  | 'treadle-unwatched'
  /** A body for each response, and one loop that writes to all of them: the least that a Hono server can do. */
  | 'hono'
  /** With Hono's helper for streams, as its documentation shows it. */
  | 'hono-helper';

/** `watched`: one run, watched by all streams. `own`: each stream has a run of its own. `idle`: nothing happens. */
export type Shape = 'watched' | 'own' | 'idle';

export interface ServerJob {
  readonly server: ServerName;
  readonly shape: Shape;
  readonly streams: number;
  /** Text deltas of a run. */
  readonly deltas: number;
  /** What a bare server writes: a text per tick. */
  readonly frames: readonly string[];
}

/** The first thing a server says. */
export interface Ready {
  readonly port: number;
  readonly token: string;
  /** What streams ask for: one path for all, or one each. */
  readonly paths: readonly string[];
}

export interface Usage {
  /** CPU milliseconds of the whole process so far. */
  readonly cpuMs: number;
  readonly rssKB: number;
  /** Of JavaScript's heap, and of buffers outside of it, after a collection. */
  readonly heapKB: number;
}

/** What came in since the last `mark`. */
export interface Received {
  /** Server-sent events, of all streams. */
  readonly events: number;
  readonly bytes: number;
  /** All that the first stream was told, without the framing of HTTP. */
  readonly text: string;
}

export type Command =
  /** To the server: start the runs, and say when all of them wait for the first tick. */
  | { readonly type: 'begin' }
  /** To the server: let the ticks begin. */
  | { readonly type: 'go' }
  /** To the server: say when all runs have ended. */
  | { readonly type: 'ended' }
  | { readonly type: 'usage' }
  /** To the client: open so many more streams, and say when all of them are answered. */
  | { readonly type: 'open'; readonly count: number; readonly ready: Ready }
  /** To the client: open so many more, one after the other, and say how many milliseconds one takes. */
  | { readonly type: 'openMs'; readonly count: number; readonly ready: Ready }
  /** To the client: forget what came in. */
  | { readonly type: 'mark' }
  /** To the client: say when so many events have come in on each stream; without a number, when the first has a run's end. */
  | { readonly type: 'finish'; readonly events: number | null }
  /** To the client: close all streams. */
  | { readonly type: 'close' };

/** Answers commands of the parent, one after the other. A failure ends the process. */
export function answer(handle: (command: Command) => Promise<unknown>): void {
  process.on('message', (command: Command) => {
    handle(command).then(
      (value) => process.send?.({ value: value ?? null }),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.on('disconnect', () => process.exit());
}
