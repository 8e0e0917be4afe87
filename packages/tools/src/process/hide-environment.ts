import { errorText } from '@treadle/core';
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import process from 'node:process';
import { looksSecret } from '../bash/environment.ts';

/** What became of this process's secrets in what the system shows of it. */
export interface HiddenEnvironment {
  /** True when the system shows none of them. */
  readonly hidden: boolean;
  /** Why it still may, in words for a person; null when it doesn't. */
  readonly reason: string | null;
}

const DONE: HiddenEnvironment = { hidden: true, reason: null };

/**
 * Takes the variables that look like secrets (`withoutSecrets`) out of what the system shows of this process's environment.
 * This process itself keeps them: `process.env` stays as it is.
 *
 * On Linux `/proc/PID/environ` shows the memory that the process was started with, to every process of the same user, and
 * deleting a variable doesn't change it. So the values are overwritten there. On other systems nothing can be done from here.
 * The memory of this process, and the environments of those that started it, are another matter.
 *
 * @example
 * ```ts
 * import { hideEnvironment } from '@treadle/tools';
 *
 * const { hidden, reason } = hideEnvironment();
 * console.log(hidden ? 'Hidden.' : `Not hidden: ${reason}.`);
 * ```
 */
export function hideEnvironment(): HiddenEnvironment {
  if (process.platform !== 'linux') return { hidden: false, reason: 'this system has no way to hide them' };
  try {
    return hide();
  } catch (error) {
    return { hidden: false, reason: errorText(error) };
  }
}

function hide(): HiddenEnvironment {
  const shown = readFileSync('/proc/self/environ');
  const values = secretValues(shown);
  if (values.length === 0) return DONE;
  const kept = values.map(({ name }) => [name, process.env[name]] as const);
  const memory = openSync('/proc/self/mem', 'r+');
  try {
    const start = environmentStart();
    const block = Buffer.alloc(shown.length);
    readSync(memory, block, 0, block.length, start);
    // Nothing is written anywhere but where the environment is.
    if (!block.equals(shown)) return { hidden: false, reason: 'the environment is not where the system says' };
    for (const { at, length } of values) writeSync(memory, Buffer.alloc(length, '*'), 0, length, start + at);
  } finally {
    closeSync(memory);
    // Set anew, they are in memory of their own.
    for (const [name, value] of kept) if (value !== undefined) process.env[name] = value;
  }
  const left = secretValues(readFileSync('/proc/self/environ'));
  return left.length === 0 ? DONE : { hidden: false, reason: 'the system does not let them be overwritten' };
}

/** Where values that look like secrets stand in a block of `NAME=value` with NUL between. Overwritten ones don't count. */
function secretValues(
  block: Buffer,
): readonly { readonly name: string; readonly at: number; readonly length: number }[] {
  const found: { name: string; at: number; length: number }[] = [];
  for (let start = 0; start < block.length;) {
    const next = block.indexOf(0, start);
    const end = next === -1 ? block.length : next;
    const equals = block.indexOf('=', start);
    if (equals !== -1 && equals < end) {
      const name = block.toString('utf8', start, equals);
      const value = block.toString('utf8', equals + 1, end);
      if (looksSecret(name, value) && !/^\**$/.test(value))
        found.push({ name, at: equals + 1, length: end - equals - 1 });
    }
    start = end + 1;
  }
  return found;
}

/** The address of the block: field 50 of `stat`, the third being the first after the name in parentheses. */
function environmentStart(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const start = Number(fields[50 - 3]);
  if (!Number.isSafeInteger(start) || start <= 0) throw new Error('the system does not say where the environment is');
  return start;
}
