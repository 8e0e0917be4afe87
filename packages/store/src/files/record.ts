import type { DurableEventBody } from '@treadle/core/events';
import { eventText } from '@treadle/core/journal';
import { MAX_ENVELOPE_DEPTH, parseJson } from '@treadle/core/json';
import { crc32 } from 'node:zlib';

/**
 * One record is one line of JSON: the event's number, whether it was posted, the number of the event up to which all was
 * known to be synced then, the length in bytes and the CRC-32 of the event's own JSON, and the event last, so that its
 * bytes can be found without parsing.
 */
export interface LogRecord {
  readonly seq: number;
  /** Undefined in records of before this was noted. */
  readonly synced: number | undefined;
  readonly posted: boolean;
  readonly event: DurableEventBody;
  /** Bytes of the whole line, its end included. */
  readonly bytes: number;
}

const SEPARATOR = Buffer.from(',"event":');
const NEWLINE = 0x0a;

/** A record that is to be written. */
export interface Draft extends LogRecord {
  readonly line: string;
}

export function draftOf(seq: number, posted: boolean, event: DurableEventBody, synced: number): Draft {
  const json = eventText(event);
  const body = Buffer.from(json);
  const head: Head = { seq, posted, synced, length: body.length, sum: sumOf(body, synced) };
  const line = `${JSON.stringify(head).slice(0, -1)},"event":${json}}\n`;
  return { seq, synced, posted, event, line, bytes: Buffer.byteLength(line) };
}

/** Of the event's bytes; of what was synced then, too, where it is noted. */
const sumOf = (bytes: Uint8Array, synced: number | undefined): string =>
  crc32(bytes, synced === undefined ? 0 : (synced + 1) >>> 0)
    .toString(16)
    .padStart(8, '0');

/**
 * The record that begins at `offset`, or why there is none. `cut_off` when the bytes end before its line does; `damaged`
 * when the line isn't what was written.
 */
export function readRecord(bytes: Buffer, offset: number): LogRecord | 'cut_off' | 'damaged' {
  const end = bytes.indexOf(NEWLINE, offset);
  if (end < 0) return 'cut_off';
  const separator = bytes.indexOf(SEPARATOR, offset);
  if (separator < 0 || separator > end) return 'damaged';
  const head = parsed(`${bytes.toString('latin1', offset, separator)}}`);
  const body = bytes.subarray(separator + SEPARATOR.length, end - 1);
  if (
    !isHead(head) ||
    bytes[end - 1] !== 0x7d ||
    body.length !== head.length ||
    sumOf(body, head.synced) !== head.sum
  ) {
    return 'damaged';
  }
  const event = parsed(body.toString('utf8'));
  if (typeof event !== 'object' || event === null) return 'damaged';
  const { seq, synced, posted } = head;
  return { seq, synced, posted, event: event as DurableEventBody, bytes: end + 1 - offset };
}

interface Head {
  readonly seq: number;
  readonly synced: number | undefined;
  readonly posted: boolean;
  readonly length: number;
  readonly sum: string;
}

function isHead(value: unknown): value is Head {
  if (typeof value !== 'object' || value === null) return false;
  const { seq, synced, posted, length, sum } = value as { readonly [Name in keyof Head]?: unknown };
  return (
    Number.isSafeInteger(seq) &&
    (synced === undefined || Number.isSafeInteger(synced)) &&
    typeof posted === 'boolean' &&
    Number.isSafeInteger(length) &&
    typeof sum === 'string'
  );
}

function parsed(text: string): unknown {
  try {
    return parseJson(text, MAX_ENVELOPE_DEPTH);
  } catch {
    return undefined;
  }
}

/**
 * Whether a whole record behind a damaged one, which is number `seq`, shows that it had been synced: then it is no torn
 * end. Records of before syncs were noted show it by being there.
 */
export function wasSynced(bytes: Buffer, seq: number): boolean {
  for (let at = bytes.indexOf(NEWLINE) + 1; at > 0 && at < bytes.length; at = bytes.indexOf(NEWLINE, at) + 1) {
    const record = readRecord(bytes, at);
    if (typeof record === 'object' && (record.synced ?? record.seq) >= seq) return true;
  }
  return false;
}

/** The kinds of events that are also synced against a power failure before they are acknowledged. */
const SYNCED: ReadonlySet<DurableEventBody['type']> = new Set([
  'session_created',
  'input_received',
  'decision_made',
  'tool_started',
  'tool_ended',
  'approval_requested',
  'approval_answered',
  'run_paused',
  'run_ended',
]);

export const mustSync = (event: DurableEventBody): boolean => SYNCED.has(event.type);
