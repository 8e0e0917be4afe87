import { viewParts } from '../../view-parts.ts';
import { compactView, type Compaction } from './compact.ts';
import { estimateFrame, estimateMessages } from '../../messages/estimate-frame.ts';
import { checkContext, contextBounds, type ContextBounds } from './options.ts';
import { RECALL } from '../../messages/result-share.ts';
import type { DurableEventBody } from '../../events/events.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { untilInterrupted } from '../../kernel/perform/interrupt.ts';
import { modelOf } from './plan.ts';
import { mayRecall, viewTokens } from '../../kernel/services/context-window.ts';
import type { Step } from '../../kernel/step.ts';
import { writeSummary, type Spending } from './summary/summarise-step.ts';

type CompactStep = Extract<Step, { type: 'compact' }>;

/** What holds for an agent without a policy, when somebody asks for a compaction. */
const DEFAULT_POLICY = checkContext({ recall: false });

/**
 * Makes the view smaller and records it as one event: before that event is in the log nothing has happened, after it
 * everything has. Whatever fails leaves the view as it was.
 */
export async function compact(context: PerformContext, step: CompactStep): Promise<void> {
  showStatus(context, step, 'compacting');
  try {
    await compactAndRecord(context, step);
  } finally {
    showStatus(context, step, null);
  }
}

async function compactAndRecord(context: PerformContext, step: CompactStep): Promise<void> {
  const { state, log, interrupt } = context;
  const { view } = state;
  const length = view.length;
  const spending: Spending = { usage: null, cost: 0, isOver: false, last: null };
  await context.services.tellMemory(context, 'beforeCompaction');
  const compacting = compactView(inputOf(context, step, spending));
  // A phase may be anybody's, and must not hold up an interruption.
  const made = await untilInterrupted(interrupt, compacting, null);
  spending.isOver = true;
  const interrupted = interrupt.fired() !== null;
  // The run ends; with none open, the input that asked for it is answered.
  if (interrupted && state.run !== null && spending.usage === null) return;
  const event = eventOf(context, step, made, spending, interrupted);
  let written = false;
  if (state.run) {
    await log.record([event]);
    written = true;
  }
  // With no run open somebody may replace the conversation meanwhile; then this one's summary is of no use.
  const isSame = (): boolean => state.view === view && view.length === length;
  while (!written && isSame()) written = await log.tryRecord([event]);
  if (written && event.type === 'compacted') await context.services.tellMemory(context, 'afterCompaction');
}

function inputOf(context: PerformContext, step: CompactStep, spending: Spending): Parameters<typeof compactView>[0] {
  const { state, agent, clock, ids } = context;
  const policy = agent.context ?? DEFAULT_POLICY;
  const asked = modelOf(agent, state.run?.turn?.modelIndex ?? state.run?.modelIndex ?? 0);
  const bounds = contextBounds(policy, asked);
  const tokens = viewTokens(state, agent);
  const frameTokens = estimateFrame(agent);
  const model = policy.summary.model ?? asked;
  const summariser = { model, policy: policy.summary, instructions: step.instructions, spending };
  return {
    view: state.view,
    tokens,
    frameTokens,
    target: targetOf(step, bounds, tokens, frameTokens / Math.max(1, frameTokens + estimateMessages(state.view))),
    oversized: oversizedOf(step, bounds, tokens),
    window: model.contextWindow ?? bounds?.window ?? null,
    strategies: policy.strategies,
    isAsked: step.trigger === 'manual' && step.instructions.length > 0,
    pin: policy.pin,
    at: clock.now(),
    newId: () => ids.create('msg'),
    recallName: agent.tools.has(RECALL) || (agent.context !== null && mayRecall(agent)) ? RECALL : null,
    summarise: (messages, options) => writeSummary(context, summariser, messages, options),
  };
}

/**
 * When a person wants it, or a provider says that it is needed, sizes are not to be trusted: half of what is there goes. A
 * person means the conversation, and not what every request has.
 *
 * @param frame the share of the tokens that system prompt and tools take
 */
function targetOf({ trigger }: CompactStep, bounds: ContextBounds | null, tokens: number, frame: number): number {
  const half = Math.floor((tokens * (trigger === 'manual' ? 1 + frame : 1)) / 2);
  if (!bounds) return half;
  return trigger === 'auto' ? bounds.target : Math.min(bounds.target, half);
}

/** What one message may take: all that a compaction aims at. Without a window nothing is too big until a provider says so. */
function oversizedOf({ trigger }: CompactStep, bounds: ContextBounds | null, tokens: number): number {
  if (bounds) return bounds.target;
  return trigger === 'overflow' ? tokens / 2 : Number.POSITIVE_INFINITY;
}

function showStatus({ state, emit, observed }: PerformContext, step: CompactStep, status: string | null): void {
  if (!observed()) return;
  const { run } = state;
  const place = {
    ...(run ? { runId: run.runId } : {}),
    ...(step.turnIndex === undefined ? {} : { turnIndex: step.turnIndex }),
  };
  emit({ type: 'status', afterSeq: state.seq, ...place, status });
}

function eventOf(
  { state, agent, clock }: PerformContext,
  { trigger, turnIndex, inputSeq }: CompactStep,
  made: Compaction | null,
  { usage, cost }: Spending,
  interrupted: boolean,
): DurableEventBody {
  const { view: before, run } = state;
  const common = {
    at: clock.now(),
    ...(run ? { runId: run.runId } : {}),
    ...(turnIndex === undefined ? {} : { turnIndex }),
    trigger,
    ...(usage === null ? {} : { usage, cost }),
    ...(inputSeq === undefined ? {} : { inputSeq }),
  };
  if (interrupted || made === null) {
    const message = 'The compaction was interrupted.';
    return { type: 'compaction_failed', ...common, reason: 'interrupted', message };
  }
  if (made.view === before) {
    return { type: 'compaction_failed', ...common, reason: 'nothing_to_remove', message: messageOf(made) };
  }
  return {
    type: 'compacted',
    ...common,
    strategy: made.strategy,
    phases: made.phases,
    view: viewParts(before, made.view),
    tokensBefore: viewTokens(state, agent),
    tokensAfter: made.tokens,
    messagesBefore: before.length,
    messagesAfter: made.view.length,
  };
}

function messageOf({ problems }: Compaction): string {
  const why = problems.length === 0 ? 'There is nothing left that may be removed.' : problems.join(' ');
  return `The context could not be made smaller. ${why}`;
}
