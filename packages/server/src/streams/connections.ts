import type { Clock } from '@treadle/core';
import type { StreamEnd } from '../encoders/encoder.ts';
import type { Sink } from './sink.ts';

/** An open stream, as the server sees all of them. */
export interface Connection {
  readonly sink: Sink;
  /** Whose token it was opened with. */
  readonly principal: string;
  end(end: StreamEnd): void;
}

/** Keeps the list of open streams, and the heartbeat: one timer for all of them, however many. */
export function createConnections(clock: Clock, heartbeatMs: number) {
  const open = new Set<Connection>();
  let cancel = (): void => {};
  let stopped = false;
  const beat = (): void => {
    // A reader that takes nothing needs no sign of life, and mustn't pile them up.
    for (const { sink } of open) if (sink.buffered === 0) sink.beat();
    schedule();
  };
  const schedule = (): void => {
    if (stopped || open.size === 0) cancel = () => {};
    else cancel = clock.after(heartbeatMs, beat, { background: true });
  };
  return {
    add(connection: Connection): void {
      open.add(connection);
      if (open.size === 1) schedule();
      connection.sink.onClose(() => {
        open.delete(connection);
        if (open.size === 0) cancel();
      });
    },
    get size(): number {
      return open.size;
    },
    /** How many are open for one token. */
    countOf: (name: string) => [...open].filter(({ principal }) => principal === name).length,
    endAll(end: StreamEnd): void {
      for (const connection of [...open]) connection.end(end);
    },
    /** Stops the heartbeat. */
    stop(): void {
      stopped = true;
      cancel();
    },
  };
}
