import { mustBePositive, mustBeWhole } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import { windowOf, type WindowFacts } from '../../kernel/services/context-window.ts';
import type { Message } from '../../messages/message.ts';
import type { Model } from '../../model/model.ts';
import type { CompactionStrategy } from './phase.ts';
import { DEFAULT_STRATEGIES } from './strategies.ts';

/** How an agent keeps its view within the model's context window. All of it has defaults. */
export interface ContextOptions {
  /**
   * Tokens a request and its reply may have together. Default: the `contextWindow` of the model that is asked, or the size
   * above which its prompts cost more. When neither is known, nothing is compacted before a provider says that the request
   * was too long.
   */
  readonly window?: number;
  /** Tokens kept free for the reply. Default: a twentieth of the window. */
  readonly reserve?: number;
  /** The share of the window, without the reserve, at which the view is compacted. Default 0.9. */
  readonly compactAt?: number;
  /** The share of the window a compaction aims at. The smaller it is, the rarer compactions are. Default 0.5. */
  readonly compactTo?: number;
  /** What is done, and in which order it is tried. Default: a summary, then the sliding window, then the oldest go. */
  readonly strategy?: CompactionStrategy | readonly CompactionStrategy[];
  /** Says which messages must stay as they are, besides those marked `pinned`. Called when a compaction runs. */
  readonly pin?: (message: Message) => boolean;
  readonly summary?: SummaryModelOptions;
  /**
   * False leaves out the tool `recall`, with which the model reads back what was removed. Default true: an agent with
   * \`context\` has it from its first call on, any other from the first compaction on.
   */
  readonly recall?: boolean;
}

/** How summaries are made. */
export interface SummaryModelOptions {
  /** Default: the model the run is asking, with the same system prompt and tools, so that its prompt cache is of use. */
  readonly model?: Model;
  /** Milliseconds a summary may take. Default 120,000. */
  readonly timeoutMs?: number;
  /** Attempts after the first, when the call fails or what it wrote can't be used. Default 1. */
  readonly maxRetries?: number;
}

/** Checked options. */
export interface ContextPolicy {
  readonly window: number | null;
  readonly reserve: number | null;
  readonly compactAt: number;
  readonly compactTo: number;
  readonly strategies: readonly CompactionStrategy[];
  readonly pin: ((message: Message) => boolean) | null;
  readonly summary: { readonly model: Model | null; readonly timeoutMs: number; readonly maxRetries: number };
  readonly recall: boolean;
}

/** @throws TreadleError `invalid_definition` when a number makes no sense. */
export function checkContext(options: ContextOptions): ContextPolicy {
  const { window = null, reserve = null, compactAt = 0.9, compactTo = 0.5, strategy = DEFAULT_STRATEGIES } = options;
  const { model = null, timeoutMs = 120_000, maxRetries = 1 } = options.summary ?? {};
  if (window !== null) mustBePositive('context.window', window);
  if (reserve !== null) mustBe('reserve', reserve, reserve >= 0, 'at least 0');
  if (window !== null && reserve !== null)
    mustBe('reserve', reserve, reserve < window * compactAt, 'less than the window');
  mustBe('compactAt', compactAt, compactAt > 0 && compactAt <= 1, 'greater than 0 and at most 1');
  mustBe('compactTo', compactTo, compactTo > 0 && compactTo < compactAt, 'greater than 0 and less than compactAt');
  mustBePositive('context.summary.timeoutMs', timeoutMs);
  mustBeWhole('context.summary.maxRetries', maxRetries);
  const strategies: readonly CompactionStrategy[] = 'phases' in strategy ? [strategy] : strategy;
  mustBe('strategy', strategies.length, strategies.length > 0, 'at least one');
  return Object.freeze({
    window,
    reserve,
    compactAt,
    compactTo,
    strategies: Object.freeze([...strategies]),
    pin: options.pin ?? null,
    summary: Object.freeze({ model, timeoutMs, maxRetries }),
    recall: options.recall ?? true,
  });
}

function mustBe(name: string, value: number, holds: boolean, what: string): void {
  if (holds) return;
  throw new TreadleError('invalid_definition', `context.${name} must be ${what}, and it is ${value}.`);
}

/** What a window means for a view. */
export interface ContextBounds {
  readonly window: number;
  /** A view above this is compacted. */
  readonly threshold: number;
  /** Tokens a compaction aims at. */
  readonly target: number;
}

/** The bounds for a model; null when no window is known. A price step counts as the end of the window. */
export function contextBounds(policy: ContextPolicy, model: WindowFacts): ContextBounds | null {
  const known = windowOf(policy, model);
  if (known === null) return null;
  const window = policy.window === null ? Math.min(known, model.priceStep ?? known) : known;
  const reserve = policy.reserve ?? Math.floor(window / 20);
  const threshold = window * policy.compactAt - reserve;
  // A view that was compacted has room to grow before it is due again.
  return { window, threshold, target: Math.floor(Math.min(window * policy.compactTo, threshold * 0.9)) };
}
