import { errorText } from '@treadle/core';
import type { Redactor } from '@treadle/core/features';

/** One line of a server's log: facts as data. No header, body, query or token is ever in one. */
export interface LogRecord {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly level: 'info' | 'warning' | 'error';
  /** What happened, such as `request` or `stream_failed`. */
  readonly event: string;
  readonly [field: string]: string | number | boolean | undefined;
}

/** Takes records. What it throws is ignored: a log that is full mustn't stop a server. */
export type Log = (
  level: LogRecord['level'],
  event: string,
  fields?: Readonly<Record<string, string | number | boolean>>,
) => void;

/** Redacts and stamps what is logged. */
export function createLog(
  write: ((record: LogRecord) => void) | undefined,
  now: () => number,
  redactor: Redactor | null,
): Log {
  if (!write) return () => {};
  const clean = (value: string | number | boolean): string | number | boolean =>
    typeof value === 'string' && redactor ? redactor.redact(value) : value;
  return (level, event, fields = {}) => {
    const cleaned = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, clean(value)]));
    try {
      write({ at: now(), level, event, ...cleaned });
    } catch {
      // Nobody is left to tell.
    }
  };
}

/** An error in a log: what it says, cut short, for it may quote what somebody sent. */
export const errorField = (error: unknown): string => errorText(error).slice(0, 500);
