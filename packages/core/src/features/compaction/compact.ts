import { errorText } from '../../errors.ts';
import type { Message } from '../../messages/message.ts';
import { estimateMessages } from '../../messages/estimate-frame.ts';
import {
  CompactionError,
  type CompactionPhase,
  type CompactionStrategy,
  type PhaseContext,
  type View,
} from './phase.ts';
import { clipOversized } from './transforms.ts';
import { isMarkedPinned, unitsOf, viewProblem } from './units.ts';

/** What a compaction works with. */
export interface CompactionInput extends Omit<PhaseContext, 'tokensOf' | 'isPinned' | 'unitsOf'> {
  readonly view: View;
  /** Tokens of the view as it is, system prompt and tools included, as measured. */
  readonly tokens: number;
  /** Tokens of system prompt and tools, estimated. */
  readonly frameTokens: number;
  /**
   * Tokens one message may have. Those above are cut down whatever the strategy, and if no strategy is enough, those above
   * half of it too.
   */
  readonly oversized: number;
  readonly strategies: readonly CompactionStrategy[];
  /** Messages that must stay, besides those marked so. */
  readonly pin: ((message: Message) => boolean) | null;
}

/** What came of it. */
export interface Compaction {
  readonly view: View;
  readonly tokens: number;
  /** The strategies that made it smaller, joined by `+`. */
  readonly strategy: string;
  /** The phases that changed something, in order. */
  readonly phases: readonly string[];
  /** What went wrong on the way, in words: a strategy that failed left the view as it was. */
  readonly problems: readonly string[];
}

/**
 * Makes a view smaller: strategy after strategy, and in each phase after phase, until it fits. A strategy that fails is
 * as if it had not been tried. What it returns is either smaller or the view it was given. Never throws.
 */
export async function compactView(input: CompactionInput): Promise<Compaction> {
  const context = phaseContext(input);
  const used: string[] = [];
  const problems: string[] = [];
  const clip = (from: View, most: number): Promise<Tried> =>
    tryStrategy(from, { name: '', phases: [clipOversized(most)] }, context, true);
  const first = await clip(input.view, input.oversized);
  let { view } = first;
  const phases = [...first.phases];
  for (const strategy of input.strategies) {
    if (context.tokensOf(view) <= input.target) break;
    const tried = await tryStrategy(view, strategy, context, false);
    if (tried.problem !== null) problems.push(`${strategy.name}: ${tried.problem}`);
    if (tried.view === view) continue;
    ({ view } = tried);
    used.push(strategy.name);
    phases.push(...tried.phases);
  }
  if (context.tokensOf(view) > input.target) {
    const last = await clip(view, input.oversized / 2);
    ({ view } = last);
    phases.push(...last.phases);
  }
  const tokens = context.tokensOf(view);
  const strategy = used.join('+') || 'clip_oversized';
  if (view !== input.view && tokens < input.tokens) return { view, tokens, strategy, phases, problems };
  return { view: input.view, tokens: input.tokens, strategy, phases: [], problems };
}

interface Tried {
  readonly view: View;
  readonly phases: readonly string[];
  readonly problem: string | null;
}

async function tryStrategy(
  before: View,
  { phases }: CompactionStrategy,
  context: PhaseContext,
  anyway: boolean,
): Promise<Tried> {
  const applied: string[] = [];
  let view = before;
  try {
    for (const phase of phases) {
      if (!anyway && context.tokensOf(view) <= context.target) break;
      const next = await applyPhase(view, phase, context);
      if (next === view) continue;
      view = next;
      applied.push(phase.name);
    }
    return { view, phases: applied, problem: null };
  } catch (thrown) {
    return { view: before, phases: [], problem: errorText(thrown) };
  }
}

/** A phase may be anybody's: what it returns is checked, and only what is smaller counts. */
async function applyPhase(view: View, phase: CompactionPhase, context: PhaseContext): Promise<View> {
  const next = await phase.apply(view, context);
  if (next === view) return view;
  const problem = viewProblem(view, next, context.isPinned);
  if (problem !== null) throw new CompactionError(`${phase.name} made a view that can't be sent: ${problem}.`);
  return context.tokensOf(next) < context.tokensOf(view) ? next : view;
}

function phaseContext(input: CompactionInput): PhaseContext {
  const { tokens, frameTokens, view: whole, pin } = input;
  // What was measured, over what would have been estimated: the estimates of smaller views are corrected by it.
  const estimated = frameTokens + estimateMessages(whole);
  const scale = estimated === 0 ? 1 : tokens / estimated;
  const isPinned = (message: Message): boolean => isMarkedPinned(message) || pin?.(message) === true;
  return {
    ...input,
    tokensOf: (view) => Math.round(scale * (frameTokens + estimateMessages(view))),
    isPinned,
    unitsOf: (view) => unitsOf(view, isPinned),
  };
}
