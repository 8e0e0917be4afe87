import type { Message } from '../../../messages/message.ts';
import {
  CompactionError,
  messages,
  replaceUnits,
  type CompactionPhase,
  type PhaseContext,
  type View,
} from '../phase.ts';
import { recallHint } from '../../../messages/result-share.ts';
import { dropOldest, middleUnits, removeResults, truncateResults } from '../transforms.ts';
import { isSummary, type Unit } from '../units.ts';

/** Options of {@link summarise}. */
export interface SummariseOptions {
  /**
   * Turns at the end that stay as they are: replies with their results, and what people said between them. Fewer, but at
   * least one, when these alone take more than there is to be. Default 5.
   */
  readonly keepRecentTurns?: number;
  /** Messages at the beginning that stay as they are. Default 0. */
  readonly keepFirst?: number;
  /**
   * Tokens there must be to summarise: less isn't worth a model call. Default 1,000; 200 where `compact` was told what matters.
   */
  readonly clearAtLeast?: number;
  /** Tokens a summary may have. Default 2,000. */
  readonly maxTokens?: number;
  /** What to pay attention to, on top of what every summary is asked for. */
  readonly instructions?: string;
}

/** Where the newest `turns` replies begin, counted in messages from the end. */
function recentMessages(view: View, turns: number): number {
  let left = turns;
  for (let index = view.length - 1; index >= 0 && left > 0; index--) {
    if (view[index]?.role !== 'assistant') continue;
    left -= 1;
    if (left === 0) return view.length - index;
  }
  return turns === 0 ? 0 : view.length;
}

const tokens = (units: readonly Unit[], tokensOf: (view: View) => number): number =>
  tokensOf(units.flatMap(({ messages: of }) => of)) - tokensOf([]);

/**
 * Has a model write down what the older messages say, and puts that in their place. Summaries accumulate: those of
 * earlier compactions stay where they are, and the new one goes where the first message it stands for was.
 */
export function summarise(options: SummariseOptions = {}): CompactionPhase {
  const { keepRecentTurns = 5, keepFirst = 0, clearAtLeast = 1000, maxTokens = 2000, instructions } = options;
  return {
    name: 'summarise',
    async apply(view, context) {
      const { units, replaces } = oldUnits(view, context, { keepFirst, keepRecentTurns });
      const least = context.isAsked === true ? Math.min(clearAtLeast, LEAST_SUMMARY) : clearAtLeast;
      if (units.length === 0 || replaces < least) return view;
      return replaceBySummary(view, units, context, { replaces, maxTokens, instructions });
    },
  };
}

/** What is to be summed up: all but the newest turns, of which fewer are kept when together they are too much to keep. */
function oldUnits(
  view: View,
  context: PhaseContext,
  { keepFirst, keepRecentTurns }: { readonly keepFirst: number; readonly keepRecentTurns: number },
): { readonly units: readonly Unit[]; readonly replaces: number } {
  for (let turns = keepRecentTurns; ; turns--) {
    const keepRecent = recentMessages(view, turns);
    const units = middleUnits(view, context, { keepFirst, keepRecent }).filter(isNew);
    const replaces = tokens(units, context.tokensOf);
    if (turns <= 1 || context.tokensOf(view) - replaces <= context.target * MOST_KEPT) return { units, replaces };
  }
}

/** The share of what a compaction aims at that messages may have which stay as they are; the rest is for summaries. */
const MOST_KEPT = 0.8;

const isNew = ({ messages: [first] }: Unit): boolean => first !== undefined && !isSummary(first);

/** The view with a model's summary in the place of some of its units. */
async function replaceBySummary(
  view: View,
  units: readonly Unit[],
  context: PhaseContext,
  options: { readonly replaces: number; readonly maxTokens: number; readonly instructions: string | undefined },
): Promise<View> {
  const last = units.at(-1);
  if (!last) return view;
  const { instructions } = options;
  const { window } = context;
  // Where there is little room, a summary gets little.
  const maxTokens = window === null ? options.maxTokens : Math.min(options.maxTokens, Math.ceil(window / 8));
  const upTo = view.slice(0, last.start + last.messages.length);
  const shown = await fitting(upTo, context, maxTokens);
  const wanted = { replaces: options.replaces, maxTokens, ...(instructions === undefined ? {} : { instructions }) };
  const said = await context.summarise(shown, wanted);
  const text = ({ count, handle }: { count: number; handle: string }): string =>
    `[Summary of ${messages(count)}; ${recallHint(context.recallName, handle)}]\n${said}`;
  return replaceUnits(view, units, context, text, true);
}

/** Tokens a request for a summary has besides the messages, generously. */
const REQUEST_TOKENS = 250;

/** What is to be summed up, made to fit the window of the model that does it: that is why there is a compaction at all. */
async function fitting(view: View, context: PhaseContext, maxTokens: number): Promise<View> {
  const { window } = context;
  if (window === null) return view;
  const inner = { ...context, target: window - maxTokens - REQUEST_TOKENS };
  let shown = view;
  for (const phase of [truncateResults({ maxLength: 2000 }), removeResults({ keepRecent: 0 }), dropOldest()]) {
    if (context.tokensOf(shown) <= inner.target) return shown;
    shown = await phase.apply(shown, inner);
  }
  if (context.tokensOf(shown) <= inner.target) return shown;
  throw new CompactionError(`What is to be summed up doesn't fit the window of ${window} tokens.`);
}

/** Options of {@link blockOverlay}. */
export interface OverlayOptions {
  /** Turns at the beginning of the run that stay. Default 2. */
  readonly keepFirstTurns?: number;
  /** Turns at its end that stay, with long tool results cut. Default 10. */
  readonly keepRecentTurns?: number;
  /** Earlier runs that keep a summary; those before them are removed. Default 3. */
  readonly keepRuns?: number;
  /** Tokens a summary may have. Default 2,000. */
  readonly maxTokens?: number;
  /** Lines of a tool result. Default 50. */
  readonly maxLines?: number;
}

/**
 * Lays a block over each run: earlier runs show only a summary, and the current one its first turns, a summary, and its
 * newest turns. Turns are taken whole, and a turn is in one part only: a run of few turns is only trimmed.
 */
export function blockOverlay(options: OverlayOptions = {}): CompactionPhase {
  const { keepFirstTurns = 2, keepRecentTurns = 10, keepRuns = 3, maxTokens = 2000, maxLines = 50 } = options;
  return {
    name: 'block_overlay',
    async apply(view, context) {
      const trimmed = await truncateResults({ maxLines }).apply(view, context);
      const runs = runsOf(context.unitsOf(trimmed));
      const current = runs.pop() ?? [];
      const old = runs.slice(0, Math.max(0, runs.length - keepRuns)).flat();
      const parts = [...runs.slice(-keepRuns || runs.length), turnsBetween(current, keepFirstTurns, keepRecentTurns)];
      let result = dropRuns(trimmed, old.filter(removable), context);
      for (const part of parts) {
        const units = part.filter(removable).filter(isNew);
        const replaces = tokens(units, context.tokensOf);
        if (replaces <= LEAST_SUMMARY) continue;
        const place = context
          .unitsOf(result)
          .filter(({ messages: of }) => units.some(({ messages: [m] }) => m === of[0]));
        result = await replaceBySummary(result, place, context, { replaces, maxTokens, instructions: undefined });
      }
      return result;
    },
  };
}

/** Tokens that are as cheap as their summary would be. */
const LEAST_SUMMARY = 200;

const removable = (unit: Unit): boolean => unit.removable;

function dropRuns(view: View, units: readonly Unit[], context: PhaseContext): View {
  const text = ({ count, handle }: { count: number; handle: string }): string =>
    `[${messages(count)} of earlier runs removed to save space; ${recallHint(context.recallName, handle)}.]`;
  return replaceUnits(view, units, context, text, false);
}

const startsRun = (message: Message | undefined, before: Message | undefined): boolean =>
  message?.role === 'user' && message.origin === 'prompt' && !(before?.role === 'user' && before.origin === 'prompt');

/** The units of each run, by the prompts that began them. */
function runsOf(units: readonly Unit[]): Unit[][] {
  const runs: Unit[][] = [];
  let before: Message | undefined;
  for (const unit of units) {
    const [first] = unit.messages;
    const open = runs.at(-1);
    if (open === undefined || startsRun(first, before)) runs.push([unit]);
    else open.push(unit);
    before = first;
  }
  return runs;
}

/** A run's units without its first and its newest turns. A turn is a reply with its results. */
function turnsBetween(run: readonly Unit[], first: number, recent: number): Unit[] {
  const replies = run.flatMap(({ messages: [message] }, index) => (message?.role === 'assistant' ? [index] : []));
  const from = first === 0 ? 0 : (replies[first - 1] ?? run.length) + 1;
  const to = recent === 0 ? run.length : (replies[replies.length - recent] ?? 0);
  return run.slice(from, Math.max(from, to));
}

/** What every summary is asked for. */
const SUMMARY_REQUEST =
  'Write a summary of the conversation so far, for yourself: it will take the place of the messages above, which you ' +
  'will no longer see. Keep what is needed to go on: what was asked and by whom, decisions and their reasons, facts ' +
  'found out (names, paths, numbers, exact error texts), what was changed, what failed, and what is still to be done. ' +
  'Leave out what no longer matters. Answer with the summary alone, and call no tools.';

/** The message that asks for a summary. */
export function summaryRequest(instructions: readonly (string | undefined)[], maxTokens: number): string {
  const more = instructions.filter((text): text is string => text !== undefined && text.trim() !== '');
  // A token is about three quarters of a word.
  const length = `Use at most ${Math.floor(maxTokens * 0.75)} words.`;
  return [SUMMARY_REQUEST, length, ...more].join('\n\n');
}

/** Why what a model wrote is of no use as a summary: it is empty, or no shorter than what it is to replace. Null when it is. */
export function summaryProblem(text: string, tokensOfText: number, replaces: number): string | null {
  if (text.trim() === '') return 'The summary is empty.';
  if (tokensOfText < replaces) return null;
  return `The summary (${tokensOfText} tokens) is no shorter than what it sums up (${replaces}).`;
}
