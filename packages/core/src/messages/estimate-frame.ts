import type { ProviderToolDefinition, ToolDefinition } from '../model/model.ts';
import type { ViewAnchor } from './anchor.ts';
import { estimateJson, estimateMessage, estimateText, PER_CALL } from './estimate.ts';
import type { Message } from './message.ts';

/** What a request has besides its messages. */
export interface RequestFrame {
  readonly instructions: string;
  readonly toolDefinitions: readonly ToolDefinition[];
  readonly providerTools: readonly ProviderToolDefinition[];
}

/** Tokens of the system prompt and the tools, estimated once per agent. */
export function estimateFrame(frame: RequestFrame): number {
  const before = frames.get(frame);
  if (before !== undefined) return before;
  const { instructions, toolDefinitions, providerTools } = frame;
  const tools = [...toolDefinitions, ...providerTools.map(({ definition }) => definition)];
  const tokens = estimateText(instructions) + tools.reduce((sum, tool) => sum + estimateJson(tool) + PER_CALL, 0);
  frames.set(frame, tokens);
  return tokens;
}

const frames = new WeakMap<RequestFrame, number>();

/** Tokens of a list of messages. */
export function estimateMessages(messages: readonly Message[]): number {
  let tokens = 0;
  for (const message of messages) tokens += estimateMessage(message);
  return tokens;
}

/**
 * The tokens the next request would have. Counts what the provider has reported as it was reported, and estimates only
 * what came after; without a report it keeps a running sum. What it costs grows with what is new.
 *
 * @param frameTokens The estimate of system prompt and tools, for a view without a report.
 */
export function measureView(
  view: readonly Message[],
  anchor: ViewAnchor,
  frameTokens: number,
  estimate: Estimator = estimateMessage,
): number {
  if (anchor.tokens !== null) {
    let { tokens } = anchor;
    for (let index = anchor.count; index < view.length; index++) tokens += weigh(view[index], estimate);
    return tokens;
  }
  let sum = sums.get(view);
  if (!sum || sum.count > view.length) sums.set(view, (sum = { count: 0, tokens: 0 }));
  for (; sum.count < view.length; sum.count++) sum.tokens += weigh(view[sum.count], estimate);
  return frameTokens + sum.tokens;
}

type Estimator = (message: Message) => number;

/** How far a view without reports has been summed up. Views only grow, until they are replaced. */
const sums = new WeakMap<readonly Message[], { count: number; tokens: number }>();

const weigh = (message: Message | undefined, estimate: Estimator): number => (message ? estimate(message) : 0);
