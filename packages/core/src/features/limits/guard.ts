import { textsOf } from '../../messages/final-text.ts';
import { createDigest } from '../../digest.ts';
import type { LoopPattern } from '../../events/limits.ts';
import type { JsonObject } from '../../json.ts';
import type { ToolResultContent } from '../../messages/content.ts';

/** A call of a finished turn with its result. */
export interface ObservedCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
}

/** A finished turn as the guard sees it. */
export interface ObservedTurn {
  /** Calls that people skipped or cancelled say nothing about the model, and are left out. */
  readonly calls: readonly ObservedCall[];
  /** The model was done and said nothing. */
  readonly isEmpty: boolean;
}

/** What the guard remembers: plain data, of the same size however long the run is. */
export interface GuardState {
  /** Digests of the last turns with calls, newest last. */
  turns: string[];
  /** How many turns in a row equal the last one; 0 after a turn without calls. */
  repeats: number;
  /** For periods of two and three turns: how many turns in a row equal the one so many before. */
  cycling: [number, number];
  /** The last call, if it failed: how, and how many in a row failed like it. */
  error: { readonly digest: string; readonly text: string; readonly count: number } | null;
  empty: number;
  /** What the last turns did, in a few words; only kept while something repeats. */
  did: string;
  /** The patterns the model has been told of. */
  steered: LoopPattern[];
}

/** Before any turn, and after a person has said something: what the model does then answers that. */
export const newGuard = (): GuardState => ({
  turns: [],
  repeats: 0,
  cycling: [0, 0],
  error: null,
  empty: 0,
  did: '',
  steered: [],
});

/** Takes a finished turn in, in place. The work depends on what is new in it and on nothing before it. */
export function observeTurn(guard: GuardState, { calls, isEmpty }: ObservedTurn): void {
  guard.empty = isEmpty ? guard.empty + 1 : 0;
  for (const call of calls) observeResult(guard, call);
  if (calls.length === 0) {
    guard.turns = [];
    guard.repeats = 0;
    guard.cycling = [0, 0];
    return;
  }
  const digest = digestOf(calls);
  const { turns, cycling } = guard;
  guard.repeats = digest === turns.at(-1) ? guard.repeats + 1 : 1;
  // The same turn over and over is no cycle: that is the other pattern.
  const isCycle = turns.some((turn) => turn !== digest);
  cycling[0] = isCycle && turns.at(-PERIODS[0]) === digest ? cycling[0] + 1 : 0;
  cycling[1] = isCycle && turns.at(-PERIODS[1]) === digest ? cycling[1] + 1 : 0;
  turns.push(digest);
  if (turns.length > PERIODS[1]) turns.shift();
  if (guard.repeats > 1 || cycling[0] > 0 || cycling[1] > 0) guard.did = describe(calls);
}

function observeResult(guard: GuardState, { name, content, isError }: ObservedCall): void {
  if (!isError) {
    guard.error = null;
    return;
  }
  const digest = createDigest();
  digest.text(name);
  for (const block of content) digest.json(block as unknown as JsonObject);
  const value = digest.value();
  const count = guard.error?.digest === value ? guard.error.count + 1 : 1;
  const said = textsOf(content).join(' ');
  guard.error = { digest: value, text: `${name}: ${excerpt(said)}`, count };
}

function digestOf(calls: readonly ObservedCall[]): string {
  const digest = createDigest();
  for (const { name, arguments: args, content, isError } of calls) {
    digest.text(name);
    digest.json(args);
    digest.json(isError);
    for (const block of content) digest.json(block as unknown as JsonObject);
  }
  return digest.value();
}

const MOST_TEXT = 200;

function excerpt(text: string): string {
  const line = text.replace(/\s+/gu, ' ').trim();
  if (line.length <= MOST_TEXT) return line;
  return `${line.slice(0, MOST_TEXT).replace(/[\ud800-\udbff]$/u, '')}…`;
}

export const PERIODS = [2, 3] as const;

const MOST_NAMED = 3;

function describe(calls: readonly ObservedCall[]): string {
  const named = calls
    .slice(0, MOST_NAMED)
    .map(({ name, arguments: args }) => `${name}(${excerpt(JSON.stringify(args))})`);
  const more = calls.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}
