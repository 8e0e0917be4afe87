import { estimateText } from './estimate.ts';
import { estimateFrame, measureView, type RequestFrame } from './estimate-frame.ts';
import { promptTokens, type ViewAnchor } from './anchor.ts';
import type { Message } from './message.ts';
import type { Model } from '../model/model.ts';
import type { ModelWarning } from '../model/check-usage.ts';
import type { Usage } from '../model/usage.ts';

/**
 * Bytes of text to a token. Measured with the tokenizers o200k and cl100k: prose, code, JSON and logs have 2 to 5, wide
 * tables and Indic scripts up to 11; only long runs of one character, such as a ruler of dashes, have more than 32.
 * Estimates are made with 4, so this is one eighth of an estimate.
 */
const MOST_BYTES_PER_TOKEN = 32;
const ESTIMATED_BYTES_PER_TOKEN = 4;

/** Below so many estimated tokens nothing is said: no server has a window as small as that. */
const LEAST_TOKENS = 4096;

/** Texts of a message that every provider counts: images, files and reasoning are counted in ways of their own. */
function textTokens(message: Message): number {
  if (message.role === 'extension') return 0;
  let tokens = 0;
  for (const block of message.content) if (block.type === 'text') tokens += estimateText(block.text);
  return tokens;
}

/** How far a view has been summed up. Views only grow, until they are replaced. */
const sums = new WeakMap<readonly Message[], { count: number; tokens: number }>();

function textOf(view: readonly Message[]): number {
  let sum = sums.get(view);
  if (!sum || sum.count > view.length) sums.set(view, (sum = { count: 0, tokens: 0 }));
  for (const message of view.slice(sum.count)) sum.tokens += textTokens(message);
  sum.count = view.length;
  return sum.tokens;
}

/** Says so when the server counted far fewer tokens than the view has: it must have cut the prompt. Null when it may be right. */
export function promptWarning(view: readonly Message[], usage: Usage): ModelWarning | null {
  if (usage.input === null) return null;
  const counted = promptTokens(usage) ?? 0;
  const sent = textOf(view);
  if (sent < LEAST_TOKENS || counted * MOST_BYTES_PER_TOKEN >= sent * ESTIMATED_BYTES_PER_TOKEN) return null;
  const message =
    `The server counted ${counted} tokens of a prompt with about ${sent}. It seems to have cut off the beginning: ` +
    "raise the server's context length, or set `context.window` to it.";
  return { code: 'prompt_truncated', message };
}

/** Output tokens that are asked for however full the window seems: its size is an estimate. */
const LEAST_REPLY = 1024;

/**
 * Output tokens that the next call may ask for; undefined leaves the number to the model's own limit. A reply that no
 * longer fits in the window beside its prompt is limited to what is free.
 */
export function replyLimit(
  { view, anchor }: { readonly view: readonly Message[]; readonly anchor: ViewAnchor },
  agent: RequestFrame & { readonly maxTokens: number | undefined },
  { contextWindow, outputLimit }: Model,
): number | undefined {
  const wanted = agent.maxTokens ?? outputLimit;
  if (wanted === undefined || contextWindow === undefined) return agent.maxTokens;
  const free = contextWindow - measureView(view, anchor, estimateFrame(agent));
  return free >= wanted ? agent.maxTokens : Math.min(wanted, Math.max(LEAST_REPLY, free));
}
