import type { JsonObject } from '@treadle/core';

/** A call the model wants made. */
export interface ToolRequest {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** What came back from a call. */
export interface Observation {
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
}

/** One past turn of this model: what it called and what came back, in call order. */
export interface Step {
  readonly results: readonly Observation[];
}

/** The next turn: a word about what is done, and the calls. */
export interface Action {
  readonly say: string;
  readonly calls: readonly ToolRequest[];
}

/**
 * A job's plan, written as the course of its calls. A script is pure: it is run from its start on every turn and handed
 * what its calls returned so far, until it asks for something that hasn't been called yet. So nothing is kept between
 * turns, and a session that is resumed in another process goes on where it was.
 */
export type Script<T> = Generator<Action, T, readonly Observation[]>;

/** A file that was found or read. */
export interface FileFact {
  readonly path: string;
  readonly bytes?: number;
}

/** One thing a job found, as it is written into a file when asked to. */
export interface Item {
  readonly text: string;
  readonly path?: string;
  readonly bytes?: number;
}

/** A text file as read through `read_file`. */
export interface WholeFile {
  readonly path: string;
  readonly lines: readonly string[];
  /** The last line has an end too. */
  readonly ended: boolean;
  /** How many results of `read_file` it took. */
  readonly pages: number;
  /** Some of it could not be read, or not exactly, and why. */
  readonly note?: string;
  /** Not a text: an image of this media type. */
  readonly image?: string;
}

/** Figures by name, as a row of a table. Numbers that a double can't hold exactly stay text. */
export type Row = Readonly<Record<string, string | number>>;

/** What a job found out. */
export interface Finding {
  /** For the answer. */
  readonly text: string;
  /** The files it was about, in order. */
  readonly files: readonly FileFact[];
  /** The same facts one by one, for writing into a file. */
  readonly items: readonly Item[];
  /** The same as data, for files that hold data; nothing for what is no figures. */
  readonly rows?: readonly Row[];
  /** The text itself when the job was to fetch text: a file's content, a command's output. */
  readonly body?: string;
}

/** What a script knows besides its job. */
export interface Room {
  /** Names of the tools that may be called. */
  readonly tools: ReadonlySet<string>;
  /** The findings before this job, oldest first: earlier jobs of this request, then nothing. */
  readonly findings: readonly Finding[];
  /** Files read so far in this request, and not changed since. */
  readonly read: Map<string, WholeFile>;
}

/** Thrown by a script whose job can't go on. The message is said to the user as it is. */
export class JobStopped extends Error {}

function missingTool(name: string): Observation {
  const hint = 'Give the agent that tool (with the treadle command, `--tools` decides which it has) and ask again.';
  return { name, isError: true, text: `I have no \`${name}\` tool in this session, so nothing was done. ${hint}` };
}

/** Makes one call and hands back what came, errors too. A tool that isn't there is an error without a call. */
export function* tryTool(room: Room, say: string, name: string, args: JsonObject): Script<Observation> {
  if (!room.tools.has(name)) return missingTool(name);
  const [result] = yield { say, calls: [{ name, arguments: args }] };
  return result ?? { name, isError: true, text: 'The call has no result.' };
}

/** Makes one call and hands back its text; a failed call ends the job with the tool's own message. */
export function* callTool(room: Room, say: string, name: string, args: JsonObject): Script<string> {
  const result = yield* tryTool(room, say, name, args);
  if (result.isError) throw new JobStopped(failureText(result));
  return result.text;
}

/** Makes several independent calls in one turn. */
export function* tryTools(room: Room, say: string, calls: readonly ToolRequest[]): Script<readonly Observation[]> {
  const missing = calls.find((call) => !room.tools.has(call.name));
  if (missing !== undefined) return calls.map((call) => missingTool(call.name));
  if (calls.length === 0) return [];
  const results = yield { say, calls };
  return calls.map((call, i) => results[i] ?? { name: call.name, isError: true, text: 'The call has no result.' });
}

/** A refused or failed call in words: which tool, and the tool's own message. */
export function failureText(result: Observation): string {
  // What follows the first sentence of a refusal is advice to the model.
  const message = result.text.trim().replace(/^(Permission denied: .*?\.) .*$/s, '$1');
  return message.startsWith('I have no ') ? message : `\`${result.name}\` did not succeed: ${message}`;
}

/**
 * Runs a script over the turns made so far. Either it ends, or it wants something next. Turns that don't fit (of another
 * plan) are passed over.
 */
export function replay<T>(
  script: Script<T>,
  steps: readonly Step[],
): { readonly done: true; readonly value: T } | { readonly done: false; readonly action: Action } {
  let cursor = 0;
  let next = script.next();
  while (next.done !== true) {
    const action = next.value;
    while (cursor < steps.length && !answers(steps[cursor], action)) cursor += 1;
    const step = steps[cursor];
    if (step === undefined) return { done: false, action };
    cursor += 1;
    next = script.next(step.results);
  }
  return { done: true, value: next.value };
}

function answers(step: Step | undefined, action: Action): boolean {
  return (
    step !== undefined &&
    step.results.length === action.calls.length &&
    action.calls.every((call, i) => step.results[i]?.name === call.name)
  );
}
