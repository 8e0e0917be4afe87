import { errorText, type ToolResult } from '@treadle/core';
import type { BlobRef } from '@treadle/core/ports';
import { safeText } from '../text/safe-text.ts';
import type { Captured } from './capture.ts';
import type { CommandEnd } from './command.ts';

export interface ReportFacts {
  readonly timeoutMs: number;
  /** The caller asked for a longer timeout than allowed. */
  readonly shortened: boolean;
  readonly maxBytes: number;
  readonly sandboxed: boolean;
}

/** What the model reads about a command that ran: exit code, what stopped it, both streams; facts in `details`. */
export function report(
  end: CommandEnd,
  stdout: Captured,
  stderr: Captured,
  facts: ReportFacts,
  /** The whole of each stream, where it was too long and could be kept. */
  [wholeOut, wholeErr]: readonly (BlobRef | undefined)[] = [],
): ToolResult {
  const code =
    end.exitCode === null
      ? `exit code none${end.signal === null ? '' : ` (${end.signal})`}`
      : `exit code ${end.exitCode}`;
  const notes = notesOn(end, facts).map((note) => `[${note}]`);
  const spills = [stdout.spill, stderr.spill].filter((spill) => spill !== undefined);
  const out = [code, ...notes, section('stdout', stdout)].join('\n');
  const err = section('stderr', stderr);
  return {
    content:
      wholeOut || wholeErr
        ? [
            { type: 'text', text: out, ...(wholeOut && { whole: wholeOut }) },
            { type: 'text', text: err, ...(wholeErr && { whole: wholeErr }) },
          ]
        : `${out}\n${err}`,
    // A command that fails has run: its exit code is the news. Only an aborted one has no outcome to speak of.
    isError: end.stopped === 'aborted',
    details: {
      exitCode: end.exitCode,
      signal: end.signal,
      timedOut: end.stopped === 'timeout',
      durationMs: end.durationMs,
      stdoutBytes: stdout.bytes,
      stderrBytes: stderr.bytes,
      spillFiles: spills.map((spill) => spill.path),
      outputLimitReached: end.stopped === 'output',
      sandboxed: facts.sandboxed,
    },
  };
}

function notesOn(end: CommandEnd, facts: ReportFacts): string[] {
  const notes: string[] = [];
  if (end.stopped === 'timeout') {
    notes.push(`timed out after ${facts.timeoutMs / 1000} s: the command and the processes it started were killed`);
  }
  if (end.stopped === 'aborted') notes.push('aborted: the command and the processes it started were killed');
  if (end.stopped === 'output') notes.push(`killed: it printed more than ${facts.maxBytes} bytes`);
  if (facts.shortened) notes.push(`timeout_ms was lowered to the maximum, ${facts.timeoutMs}`);
  if (end.stopped === undefined && end.leftBehind > 0) {
    notes.push(
      end.leftBehind === 1 ? '1 background process was ended' : `${end.leftBehind} background processes were ended`,
    );
  }
  return notes;
}

function section(name: string, output: Captured): string {
  if (output.bytes === 0) return `${name}: (empty)`;
  const { head, tail, omitted } = output;
  if (omitted === 0) return `${name}:\n${trimEnd(decode(Buffer.concat([head, tail])))}`;
  // No character and no terminal sequence is cut in two.
  const start = safeText(new TextDecoder().decode(head.subarray(0, openSequence(head)), { stream: true }));
  let begin = 0;
  while (begin < 3 && isContinuation(tail[begin])) begin += 1;
  const end = decode(tail.subarray(begin));
  return `${name}:\n${start}\n[… ${omitted} bytes left out: ${whereabouts(output)} …]\n${trimEnd(end)}`;
}

function whereabouts({ spill, spillError, bytes }: Captured): string {
  if (spill === undefined) return `they could not be kept (${errorText(spillError)})`;
  const part = spill.bytes < bytes ? `the first ${spill.bytes} bytes are` : 'the whole output is';
  return `${part} in ${spill.path}, which read_file can read`;
}

const decode = (bytes: Uint8Array): string => safeText(new TextDecoder().decode(bytes));

const trimEnd = (text: string): string => (text.endsWith('\n') ? text.slice(0, -1) : text);

const escape = 0x1b;
const longestSequence = 64;

/** Where a terminal sequence begins that isn't whole, or the end. */
function openSequence(bytes: Uint8Array): number {
  const sequence = bytes.lastIndexOf(escape);
  if (sequence < 0 || bytes.length - sequence >= longestSequence) return bytes.length;
  const rest = Buffer.from(bytes.subarray(sequence)).toString('latin1');
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  return /^\u001b(?:\[[0-?]*[ -/]*|\][^\u0007]*)?$/.test(rest) ? sequence : bytes.length;
}

const isContinuation = (byte = 0): boolean => (byte & 0xc0) === 0x80;
