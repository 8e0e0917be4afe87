import type { JsonObject } from '../json.ts';
import { errorText } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { BlobKeeper } from '../ports/blob-keeper.ts';
import type { ArgumentsIssue, Validator } from '../ports/validator.ts';
import { isPlain, keptOutput } from './keep-output.ts';
import { errorOutput, normalOutput, type NormalOutput } from './output.ts';
import type { ArgumentsOutcome, Tool, ToolContext } from './tool.ts';

/** Milliseconds a tool has, after its signal was aborted, to clean up and say what it had done. */
const ABORT_GRACE_MS = 100;

/** What one call needs besides its tool. */
export interface Execution {
  readonly tool: Tool;
  /** What the tool's `check` returned. */
  readonly args: unknown;
  readonly facts: Omit<ToolContext, 'signal' | 'update' | 'progress'>;
  /** Keeps what is too long or too big; null for none. */
  readonly keeper: BlobKeeper | null;
  /** Whether the model has the tool that reads what was cut out. */
  readonly canRecall: boolean;
  readonly timeoutMs: number | undefined;
  /** Milliseconds to end in when it is stopped, where they differ. */
  readonly graceMs?: number | undefined;
  readonly maxLength: number;
  readonly clock: Clock;
  /** Calls back when the call is to stop; `on` returns a function that forgets it. */
  readonly interrupt: { on(stop: () => void): () => void };
  readonly update: (partial: NormalOutput) => void;
  readonly progress: (text: string) => void;
}

/**
 * Executes one call and always comes back with a result: throwing, hanging and ignoring the signal are all results of
 * their own. What a tool does after its result was settled changes nothing any more.
 */
export function executeTool(execution: Execution): Promise<NormalOutput> {
  const { tool, timeoutMs, maxLength, clock } = execution;
  const { execute } = tool;
  if (!execute) return Promise.resolve(errorOutput(`${tool.name} can't be executed here: it is a client tool.`));
  return new Promise((resolve) => {
    const abort = new AbortController();
    let settled = false;
    let stopping: string | null = null;
    let cancelTimer: (() => void) | null = null;
    let forget: (() => void) | null = null;
    /** What it has shown last: all that is known of a call that is stopped and says no more. */
    let shown: NormalOutput = { content: [], isError: false };

    const settle = (output: NormalOutput): void => {
      if (settled) return;
      settled = true;
      cancelTimer?.();
      forget?.();
      resolve(output);
    };
    const stop = (why: string): void => {
      if (settled || stopping !== null) return;
      stopping = why;
      cancelTimer?.();
      cancelTimer = clock.after(execution.graceMs ?? ABORT_GRACE_MS, () => settle(stopped(why, shown)));
      abort.abort();
    };
    if (timeoutMs !== undefined) {
      cancelTimer = clock.after(timeoutMs, () => stop(`${tool.name} timed out after ${timeoutMs} ms and was stopped.`));
    }
    forget = execution.interrupt.on(() => stop(`${tool.name} was cancelled before it finished.`));

    const context: ToolContext = {
      ...execution.facts,
      signal: abort.signal,
      update: (partial) => {
        if (settled) return;
        shown = normalOutput(partial, maxLength);
        execution.update(shown);
      },
      progress: (text: unknown) => {
        if (!settled) execution.progress(typeof text === 'string' ? text : errorText(text));
      },
    };
    const end = (output: NormalOutput): void => settle(stopping === null ? output : stopped(stopping, output));
    const failed = (thrown: unknown): void =>
      settle(
        stopping === null ? failure(`${tool.name} failed: ${errorText(thrown)}`, maxLength) : stopped(stopping, shown),
      );
    // What a tool returns is anything: its types are only promises.
    const done = (output: unknown): void => {
      const { keeper, canRecall } = execution;
      if (isPlain(output, keeper)) return end(normalOutput(output, maxLength));
      keptOutput(output, { maxLength, keeper, canRecall, stopped: () => stopping !== null }).then(end, failed);
    };
    // A tool that throws or returns at once is no different from one that promises.
    try {
      const output: unknown = execute(execution.args, context);
      if (isThenable(output)) Promise.resolve(output).then(done, failed);
      else RETURNED.then(() => done(output), failed);
    } catch (thrown) {
      failed(thrown);
    }
  });
}

const RETURNED = Promise.resolve();

/** False for a value that refuses to say so: it was returned, and is shown as far as it can be. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  try {
    return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
  } catch {
    return false;
  }
}

/** What a tool throws may be as long as what it returns. */
const failure = (text: string, maxLength: number): NormalOutput => ({
  ...normalOutput(text, maxLength),
  isError: true,
});

/** A stopped call is an error, and what it could still say is worth reading. */
function stopped(why: string, { ask: _, ...said }: NormalOutput): NormalOutput {
  return { ...said, isError: true, content: [{ type: 'text', text: why }, ...said.content] };
}

/** Tells a model what is wrong with its arguments, and where. */
export function issuesText(tool: Tool, issues: readonly ArgumentsIssue[]): string {
  const lines = issues.map(({ path, message }) => `- ${path === '' ? 'the arguments' : path}: ${message}`);
  return `Not executed: the arguments of ${tool.name} don't fit its schema.\n${lines.join('\n')}`;
}

/** A call's arguments checked, at once where the schema can; a check that fails in itself is a failed check. */
export function checkArguments(
  tool: Tool,
  args: JsonObject,
  validator: Validator | null,
): ArgumentsOutcome | Promise<ArgumentsOutcome> {
  try {
    const outcome = tool.check(args, validator);
    return outcome instanceof Promise ? outcome.catch(uncheckable) : outcome;
  } catch (thrown) {
    return uncheckable(thrown);
  }
}

function uncheckable(thrown: unknown): ArgumentsOutcome {
  return { ok: false, issues: [{ path: '', message: `they could not be checked: ${errorText(thrown)}` }] };
}
