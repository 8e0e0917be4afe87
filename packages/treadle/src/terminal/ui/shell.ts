import type { UserContent } from '@treadle/core';

import { toldOf } from '../view/words.ts';
import type { TerminalHost } from './host.ts';

/** A command of the user's that runs. */
export interface RunningCommand {
  readonly command: string;
  readonly startedAt: number;
  /** What it has put out so far. */
  readonly output: string;
}

/** Commands that the user runs with `!`, one at a time. What they put out is told to the model with the next message. */
export interface Shell {
  /** Runs a command to its end. Null when one runs already. */
  run(command: string): Promise<UserContent | null>;
  readonly running: RunningCommand | null;
  /** Ends what runs. False when nothing does. */
  stop(): boolean;
  /** Keeps what a command has put out for the next message. */
  keep(told: UserContent): void;
  /** What is kept; it counts as told. */
  take(): readonly UserContent[];
  /** Another session is shown: what was put out before is not for its model. */
  restart(): void;
  /** Counts the sessions. */
  readonly place: number;
}

export function createShell(parts: {
  readonly host: Pick<TerminalHost, 'shell'>;
  now(): number;
  /** What runs has put out more, or has ended. */
  changed(): void;
}): Shell {
  let running: { command: string; startedAt: number; output: string; readonly abort: AbortController } | null = null;
  let kept: UserContent[] = [];
  let place = 0;
  return {
    async run(command) {
      if (running) return null;
      const abort = new AbortController();
      const open = { command, startedAt: parts.now(), output: '', abort };
      running = open;
      parts.changed();
      try {
        const output = await parts.host.shell(command, abort.signal, (text) => {
          open.output = text;
          parts.changed();
        });
        return toldOf(command, output);
      } finally {
        running = null;
        parts.changed();
      }
    },
    get running() {
      return running;
    },
    stop() {
      running?.abort.abort();
      return running !== null;
    },
    keep: (told) => void kept.push(told),
    take() {
      const all = kept;
      kept = [];
      return all;
    },
    restart() {
      kept = [];
      place += 1;
    },
    get place() {
      return place;
    },
  };
}
