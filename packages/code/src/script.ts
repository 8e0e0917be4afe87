// Runs in a worker thread, and so imports nothing that an import condition resolves.
import type { QuickJSContext, QuickJSDeferredPromise, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten-core';
import { PRELUDE } from './prelude.ts';

/** What one run of a script may use. */
export interface ScriptLimits {
  /** Milliseconds that the script may compute, from its beginning. */
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  /** Characters of what it prints and returns. */
  readonly maxOutputLength: number;
  /** Calls that are under way at the same time. */
  readonly concurrency: number;
}

/** A call that a script has made. */
export interface ScriptCall {
  readonly name: string;
  /** A JSON object, with the keys of objects in their order. */
  readonly argumentsText: string;
}

/** A call that was made in an earlier run of the same script, with what it came to. */
export interface JournalledCall extends ScriptCall {
  readonly result: string;
  readonly isError: boolean;
}

/** A script, and all that it has seen of the world so far. */
export interface Script {
  readonly code: string;
  /** Names of the tools that it has. */
  readonly tools: readonly string[];
  /** What its random numbers are drawn from. */
  readonly seed: string;
  /** Milliseconds since 1970-01-01 UTC at its beginning. */
  readonly startedAt: number;
  /** Calls that were made together, with the time at which the script had their results. */
  readonly journal: readonly { readonly at: number; readonly calls: readonly JournalledCall[] }[];
}

/** How far a script came. */
export type ScriptOutcome =
  /** It waits for these calls. */
  | { readonly type: 'calls'; readonly calls: readonly ScriptCall[] }
  | { readonly type: 'returned'; readonly output: string }
  | { readonly type: 'failed'; readonly problem: string; readonly output: string }
  /** It doesn't do again what the journal says it did. */
  | { readonly type: 'diverged'; readonly problem: string };

interface OpenCall extends ScriptCall {
  readonly settled: QuickJSDeferredPromise;
}

/** Stack of a script. With more, deep recursion in it exhausts the stack of the process first. */
const STACK_BYTES = 256 * 1024;

/**
 * Runs a script from its beginning: calls in the journal get their results from there, in the order in which they were
 * made. Stops at the first calls that are not in it.
 *
 * @param now Milliseconds of any clock, for the time that it computes.
 * @throws what the engine threw when it failed in itself; it can't be used again then.
 */
export function runScript(
  engine: QuickJSWASMModule,
  script: Script,
  limits: ScriptLimits,
  now: () => number,
): ScriptOutcome {
  const runtime = engine.newRuntime();
  runtime.setMemoryLimit(limits.memoryBytes);
  runtime.setMaxStackSize(STACK_BYTES);
  const deadline = now() + limits.timeoutMs;
  runtime.setInterruptHandler(() => now() > deadline);
  const vm = runtime.newContext();
  const outcome = play(vm, script, limits);
  vm.dispose();
  runtime.dispose();
  return outcome;
}

function play(vm: QuickJSContext, script: Script, limits: ScriptLimits): ScriptOutcome {
  const open: OpenCall[] = [];
  const output = new Output(limits.maxOutputLength);
  let time = script.startedAt;
  const random = randomFrom(script.seed);

  const define = (name: string, run: (...args: QuickJSHandle[]) => QuickJSHandle | undefined): void => {
    using made = vm.newFunction(name, (...args) => run(...args));
    vm.setProp(vm.global, name, made);
  };
  const textOf = (handle: QuickJSHandle | undefined): string => (handle ? vm.getString(handle) : '');
  define('__call', (name, args) => {
    const settled = vm.newPromise();
    open.push({ name: textOf(name), argumentsText: textOf(args), settled });
    return settled.handle;
  });
  define('__log', (text) => {
    output.add(textOf(text));
    return undefined;
  });
  define('__now', () => vm.newNumber(time));
  define('__random', () => vm.newNumber(random()));
  using names = vm.newString(JSON.stringify(script.tools));
  vm.setProp(vm.global, '__names', names);

  try {
    vm.unwrapResult(vm.evalCode(PRELUDE, 'prelude.js')).dispose();
    const begun = vm.evalCode(`(async () => {\n${script.code}\n})()`, 'script.js');
    if (begun.error) return failure(vm, begun.error, output);
    using ending = begun.value;
    for (const [number, { at, calls }] of script.journal.entries()) {
      runJobs(vm);
      const problem = differs(calls, open, number);
      if (problem !== null) return { type: 'diverged', problem };
      time = at;
      for (const { result, isError } of calls) {
        using value = vm.newString(JSON.stringify({ result, isError }));
        const call = open.shift();
        call?.settled.resolve(value);
        call?.settled.dispose();
      }
    }
    runJobs(vm);
    if (open.length > 0) {
      const due = open.slice(0, limits.concurrency);
      return { type: 'calls', calls: due.map(({ name, argumentsText }) => ({ name, argumentsText })) };
    }
    const state = vm.getPromiseState(ending);
    if (state.type === 'rejected') return failure(vm, state.error, output);
    if (state.type === 'pending') {
      const problem = 'The script waits for something that never happens: it has no open call of a tool.';
      return { type: 'failed', problem, output: output.text() };
    }
    if (state.notAPromise !== true) {
      using value = state.value;
      output.add(shown(vm, value));
    }
    return { type: 'returned', output: output.text() };
  } catch (error) {
    // What ends a job, such as an interrupt, is an error of the script. Anything else is one of the engine.
    if (!(error instanceof Error && error.name === 'QuickJSUnwrapError')) throw error;
    return { type: 'failed', problem: error.message, output: output.text() };
  } finally {
    for (const { settled } of open) settled.dispose();
  }
}

/** Runs what the script has to do until it waits. */
function runJobs(vm: QuickJSContext): void {
  const done = vm.runtime.executePendingJobs();
  if (done.error) vm.unwrapResult(done);
  done.dispose();
}

/** How the next calls of a script are not those of the journal; null when they are. */
function differs(journalled: readonly ScriptCall[], made: readonly ScriptCall[], number: number): string | null {
  for (const [at, wanted] of journalled.entries()) {
    const call = made[at];
    if (call?.name === wanted.name && call.argumentsText === wanted.argumentsText) continue;
    const now = call ? `${call.name}(${call.argumentsText})` : 'no call';
    return (
      `Call ${at + 1} of step ${number + 1} was ${wanted.name}(${wanted.argumentsText}), and now it is ${now}. ` +
      'The script, its engine or the journal has changed since.'
    );
  }
  return null;
}

function failure(vm: QuickJSContext, error: QuickJSHandle, output: Output): ScriptOutcome {
  using handle = error;
  const thrown: unknown = vm.dump(handle);
  const { name, message, stack } = Object(thrown) as Record<'name' | 'message' | 'stack', unknown>;
  const what = typeof message === 'string' ? `${String(name)}: ${message}` : String(thrown);
  return {
    type: 'failed',
    problem: typeof stack === 'string' ? `${what}\n${stack.trimEnd()}` : what,
    output: output.text(),
  };
}

/** What a script returned, as text; empty for nothing. */
function shown(vm: QuickJSContext, value: QuickJSHandle): string {
  if (vm.typeof(value) === 'undefined') return '';
  if (vm.typeof(value) === 'string') return vm.getString(value);
  const dumped: unknown = vm.dump(value);
  return JSON.stringify(dumped) ?? String(dumped);
}

/** What a script prints, up to a number of characters. */
class Output {
  readonly #most: number;
  #text = '';
  #left = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(line: string): void {
    if (line === '') return;
    const whole = this.#text === '' ? line : `\n${line}`;
    const kept = whole.slice(0, this.#most - this.#text.length);
    this.#text += kept;
    this.#left += whole.length - kept.length;
  }

  text(): string {
    return this.#left === 0 ? this.#text : `${this.#text}\n(${this.#left} more characters were left out.)`;
  }
}

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function randomFrom(seed: string): () => number {
  let state = 0x811c9dc5;
  for (const character of seed) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
