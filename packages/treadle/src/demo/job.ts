import type { JsonObject } from '@treadle/core';

/** A tool call that a job asks for. */
export interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** What a tool returned for a call. */
export interface Result {
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
}

/** One reply of the model. A reply without calls is the answer. */
export interface Reply {
  readonly text: string;
  readonly calls: readonly Call[];
}

/** A scripted job: yields replies with calls, receives their results, and returns the answer. */
export type Job<T = string> = Generator<Reply, T, readonly Result[]>;

/** Ends a job early. The message is the answer. */
export class JobStopped extends Error {}

/** Makes the calls in one turn and returns what they printed. A failed call ends the job. */
export function* callTools(text: string, ...calls: readonly Call[]): Job<readonly string[]> {
  const results = yield { text, calls };
  const failed = results.find(({ isError }) => isError);
  if (failed !== undefined) throw new JobStopped(failureText(failed));
  return results.map((result) => result.text);
}

/** Makes one call and returns what it printed. A failed call ends the job. */
export function* callTool(text: string, name: string, args: JsonObject): Job {
  const [printed = ''] = yield* callTools(text, { name, arguments: args });
  return printed;
}

/** What failed, in the first sentence of the tool's message. The sentences after it are advice for a language model. */
export function failureText({ name, text }: Result): string {
  return `\`${name}\` failed: ${/^[^]*?\.(?=\s|$)/.exec(text)?.[0] ?? text}`;
}

/**
 * Runs a job from its start with the results so far, up to the reply that comes next. The model keeps no state, so another
 * process can resume the session.
 *
 * @param results the results of each earlier turn
 * @param tools names of the tools that may be called
 */
export function nextReply(job: Job, results: Iterable<readonly Result[]>, tools: ReadonlySet<string>): Reply {
  try {
    let step = job.next();
    for (const turn of results) {
      if (step.done === true) break;
      step = job.next(turn);
    }
    // A reply without text is no answer, and the loop would ask for one again.
    if (step.done === true) return { text: step.value || 'Done. The tool returned nothing.', calls: [] };
    const missing = step.value.calls.find(({ name }) => !tools.has(name));
    if (missing === undefined) return step.value;
    return { text: `I need the tool \`${missing.name}\` for this, and I may not call it here.`, calls: [] };
  } catch (error) {
    if (error instanceof JobStopped) return { text: error.message, calls: [] };
    throw error;
  }
}
