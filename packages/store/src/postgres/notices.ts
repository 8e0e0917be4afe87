import { createHash } from 'node:crypto';
import type { DurableEventBody } from '@treadle/core/events';
import type { Watchers } from '../watchers.ts';

/** A session's name, of fixed length: what is sent to listeners is bounded. */
export const idOf = (name: string): string => createHash('md5').update(name).digest('hex');

/** What listeners are sent: which session, and the end of its log. */
export const noticeOf = (name: string, seq: number): string => `${idOf(name)}:${seq}`;

export const removalNotice = (name: string, seq: string): string => `${idOf(name)}:${seq}:removed`;

/** Another process, or this one, has sent a notice. */
export function hear(watchers: Watchers, notice: string): void {
  const [id = '', seq = '', removed] = notice.split(':');
  watchers[removed === undefined ? 'wrote' : 'removed'](id, Number(seq));
}

/** After these a drive may write no more for long, or be gone: listeners are told by the statement that writes them. */
const ENDS: ReadonlySet<DurableEventBody['type']> = new Set(['run_paused', 'run_ended']);

export const endsSomething = (bodies: readonly DurableEventBody[]): boolean =>
  bodies.some(({ type }) => ENDS.has(type));

/** Tells listeners what was appended: at once, or together with what is appended soon after. */
export interface Teller {
  wrote(name: string, seq: number): void;
  /** Its listeners have been told of more by another way. */
  forget(name: string): void;
  /** Sends what is left. */
  flush(): Promise<void>;
}

const PAUSE_MS = 25;

/**
 * A notice costs the server a lock that all who commit one wait for, and wakes every process that listens: so those of an
 * append wait for each other. One that isn't sent, because its process or its connection died first, is not missed for
 * long: whoever watches looks for itself now and then.
 */
export function createTeller(send: (notices: readonly string[]) => Promise<void>): Teller {
  const pending = new Map<string, number>();
  let last = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let sending = Promise.resolve();

  function sendAll(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (pending.size === 0) return sending;
    const notices = [...pending].map(([name, seq]) => noticeOf(name, seq));
    pending.clear();
    last = performance.now();
    return (sending = Promise.all([sending, send(notices).catch(() => {})]).then(() => {}));
  }

  return {
    wrote(name, seq) {
      pending.set(name, seq);
      if (timer) return;
      // Time as it passes for other processes, whatever clock this one is told.
      const rest = last + PAUSE_MS - performance.now();
      if (rest <= 0) void sendAll();
      else timer = setTimeout(() => void sendAll(), rest).unref();
    },
    forget(name) {
      pending.delete(name);
    },
    flush: sendAll,
  };
}
