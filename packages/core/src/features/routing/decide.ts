import { plainData } from '../../tools/plain-data.ts';
import type { Agent } from '../../agent/agent.ts';
import { estimateMessages } from '../../messages/estimate-frame.ts';
import type { JsonValue } from '../../json.ts';
import { chosenRoute, DEFAULT_MODEL, type Routing, type RoutingFacts } from './routing.ts';
import { timedCall, type TimedOutcome } from '../../timed-call.ts';
import { runOf, type PerformContext } from '../../kernel/context.ts';
import { viewTokens } from '../../kernel/services/context-window.ts';
import { promptMessages } from '../../kernel/plan/run-events.ts';
import type { Question } from '../../kernel/services/question.ts';
import type { RunState } from '../../kernel/state.ts';

/**
 * Asks which model the next turn is for. What can't be used is not: who fails to choose, and who chooses what doesn't fit,
 * leaves the model as it was, and a warning says why.
 */
export async function decideRouting(
  context: PerformContext,
  { runId, turnIndex }: Extract<Question, { type: 'routing' }>,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { agent, state, emit } = context;
  const { routing } = agent;
  if (!routing) return { model: null };
  const facts = factsOf(context, routing, turnIndex, signal);
  const outcome = await choiceOf(context, routing, facts);
  const checked = outcome.ok ? checkChoice(agent, routing, plainData(outcome.value).value, facts) : outcome;
  if (!checked.ok) {
    const message = `The model stays ${facts.current}: ${checked.problem}`;
    emit({ type: 'warning', afterSeq: state.seq, runId, code: 'routing_failed', message });
    return { model: null, problem: checked.problem };
  }
  return checked.decision;
}

/** A table is looked up; a function is called, and has its time. */
function choiceOf(
  { clock }: PerformContext,
  { choose, models, timeoutMs }: Routing,
  facts: RoutingFacts,
): Promise<TimedOutcome> | TimedOutcome {
  const named = facts.metadata?.['model'];
  if (typeof named === 'string' && Object.hasOwn(models, named)) {
    return { ok: true, value: { model: named, reason: 'The run names it.' } };
  }
  if (typeof choose !== 'function') return { ok: true, value: chosenRoute(choose, facts) };
  const call = (signal: AbortSignal): unknown => choose({ ...facts, signal });
  return timedCall({ name: 'The choice of a model', timeoutMs, clock, signal: facts.signal, call });
}

/** What is kept of a choice, or why it can't be used. */
type Checked = { readonly ok: true; readonly decision: JsonValue } | { readonly ok: false; readonly problem: string };

function checkChoice({ maxTokens = 0 }: Agent, { models }: Routing, choice: unknown, facts: RoutingFacts): Checked {
  if (choice === null || choice === undefined) return { ok: true, decision: { model: null } };
  const { model: name, reason } = (typeof choice === 'string' ? { model: choice } : choice) as {
    readonly model?: unknown;
    readonly reason?: unknown;
  };
  const model = typeof name === 'string' && Object.hasOwn(models, name) ? models[name] : undefined;
  if (typeof name !== 'string' || !model) {
    return {
      ok: false,
      problem: `there is no model ${JSON.stringify(name) ?? 'without a name'}. There are ${Object.keys(models).join(', ')}.`,
    };
  }
  const { provider, id, contextWindow = Infinity } = model;
  // The current one may be too small as well; but then nobody has chosen that.
  if (facts.contextTokens + maxTokens > contextWindow && name !== facts.current) {
    const problem = `the request has ${facts.contextTokens} tokens, and the window of ${name} is ${contextWindow}.`;
    return { ok: false, problem };
  }
  const why = typeof reason === 'string' ? { reason } : {};
  return { ok: true, decision: { model: name, provider, id, ...why } };
}

function factsOf(
  { agent, state, clock }: PerformContext,
  routing: Routing,
  turnIndex: number,
  signal: AbortSignal,
): RoutingFacts {
  const run = runOf(state);
  const { runId, startedBy, metadata, lastMessage, lastFailure, usage, cost } = run;
  const asked = promptMessages(state, run, clock.now()).flatMap((event) =>
    event.type === 'message_added' ? [event.message] : [],
  );
  const calls = lastMessage?.content.flatMap((block) => (block.type === 'tool_call' ? [block.name] : []));
  return {
    sessionId: state.sessionId,
    runId,
    agentId: agent.id,
    turnIndex,
    startedBy,
    metadata,
    tags: tagsOf(run),
    models: routing.models,
    current: nameOf(agent, routing, run.modelIndex),
    lastUsage: lastMessage?.usage ?? null,
    lastStopReason: lastMessage?.stopReason ?? null,
    calledTools: calls ?? [],
    usage,
    cost,
    contextTokens: viewTokens(state, agent) + estimateMessages(asked),
    lastError: lastFailure
      ? {
          model: nameOf(agent, routing, lastFailure.modelIndex),
          kind: lastFailure.kind,
          turnIndex: lastFailure.turnIndex,
        }
      : null,
    messages: [...state.view, ...asked],
    signal,
  };
}

function tagsOf({ metadata }: RunState): readonly string[] {
  const tags = metadata?.['tags'];
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
}

/** Fallbacks may have no name: they are called what their provider calls them. */
function nameOf({ models }: Agent, { indexes }: Routing, index: number): string {
  const named = [...indexes].findLast(([, at]) => at === index)?.[0];
  const model = models[index];
  return named ?? (model ? `${model.provider}/${model.id}` : DEFAULT_MODEL);
}
