import { errorText } from '../../errors.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { childSessionId, type ChildCall, type ChildOutcome } from './child.ts';
import { delegationOf } from './delegation.ts';
import { normalOutput } from '../../tools/output.ts';
import type { Tool, ToolContext, ToolOutput } from '../../tools/tool.ts';
import { runOf, type PerformContext } from '../../kernel/context.ts';
import type { CallState, SessionState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';
import { within } from '../../timed-call.ts';

/** Milliseconds a sub-agent has to end when its call is stopped: its own tools have to end in them. */
export const CHILD_GRACE_MS = 900;

/** Milliseconds what is left of a sub-agent has to end with its parent's run. */
const STOP_TIMEOUT_MS = 5_000;

/** The session of the sub-agent that a call starts or goes on with; null when its tool is no agent's. */
export function childOf(state: SessionState, call: CallState, tool: Tool, args: unknown): string | null {
  return call.childSessionId ?? childIn(state.sessionId, call.callId, tool, args);
}

/** As `childOf`, of a call that isn't part of the open turn. */
export function childIn(sessionId: string, callId: string, tool: Tool, args: unknown): string | null {
  if (!tool.delegates) return null;
  return delegationOf(tool, args)?.resume ?? childSessionId(sessionId, callId);
}

/** A call's sub-agent as something to execute, which keeps what came of it. */
export interface ChildExecution {
  readonly execute: (args: unknown, context: ToolContext) => Promise<ToolOutput>;
  outcome(): ChildOutcome | null;
}

export function childExecution(
  context: PerformContext,
  tool: Tool,
  place: { readonly turnIndex: number; readonly childSessionId: string; readonly isBackground?: boolean },
): ChildExecution {
  const { turnIndex, childSessionId: session, isBackground = false } = place;
  let outcome: ChildOutcome | null = null;
  return {
    outcome: () => outcome,
    async execute(args, { runId, callId, toolName, signal, progress }) {
      const delegation = delegationOf(tool, args);
      if (!delegation) throw new Error('The call has no sub-agent.');
      const facts = { runId, turnIndex, callId, toolName, arguments: args, childSessionId: session };
      const child: ChildCall = isBackground ? { ...facts, background: { progress } } : facts;
      outcome = await context.childRunner.run(child, delegation, signal);
      return outcome.type === 'ended' ? outcome.output : '';
    },
  };
}

/** Where nobody is to be waited for, what would wait is left where it stands. */
export function inBackground(child: ChildExecution): ChildExecution['execute'] {
  return async (args, context) => {
    const output = await child.execute(args, context);
    const outcome = child.outcome();
    if (outcome?.type !== 'paused') return output;
    const asked = outcome.pending.map(({ toolName }) => toolName).join(', ');
    const content =
      `The agent waits for somebody (${asked}), and nobody answers what runs in the background. ` +
      'Call it again in the foreground, with resume.';
    return { content, isError: true, details: { pending: outcome.pending.map(({ callId }) => callId) } };
  };
}

/** What a call's end says of its sub-agent. */
export function childFacts(
  outcome: ChildOutcome | null,
): Pick<Extract<DurableEventBody, { type: 'tool_ended' }>, 'childRunId' | 'childSpent'> {
  if (outcome?.type !== 'ended') return {};
  const { childRunId, spent } = outcome;
  return { ...(childRunId === null ? {} : { childRunId }), ...(spent > 0 ? { childSpent: spent } : {}) };
}

/** The call waits with its sub-agent. */
export function pausedEvent(
  place: { readonly runId: string; readonly turnIndex: number },
  { callId, toolName, childSessionId: session }: Omit<ChildCall, 'arguments'>,
  { childRunId, pending }: Extract<ChildOutcome, { type: 'paused' }>,
  at: number,
): DurableEventBody {
  const { runId, turnIndex } = place;
  const run = childRunId === null ? {} : { childRunId };
  return { type: 'tool_paused', at, runId, turnIndex, callId, toolName, childSessionId: session, ...run, pending };
}

/** Ends what calls have left behind, each in its own session, and answers the calls. */
export async function stopChildren(
  context: PerformContext,
  { turnIndex, calls, reason }: Extract<Step, { type: 'stop_children' }>,
): Promise<void> {
  await Promise.all(calls.map((call) => stopChild(context, turnIndex, call, reason)));
}

async function stopChild(context: PerformContext, turnIndex: number, call: CallState, reason: string): Promise<void> {
  const { state, clock, log, agent } = context;
  const { runId } = runOf(state);
  const { callId, name: toolName, childSessionId: session } = call;
  if (session === null) return;
  const child = { runId, turnIndex, callId, toolName, arguments: call.arguments, childSessionId: session };
  const outcome = await inTime(context, context.childRunner.stop(child, reason));
  const said = outcome.type === 'ended' ? normalOutput(outcome.output, agent.maxToolResultLength).content : [];
  const why = { type: 'text' as const, text: `Not finished: ${reason}` };
  await log.record([
    {
      type: 'tool_ended',
      at: clock.now(),
      runId,
      turnIndex,
      callId,
      toolName,
      content: [why, ...said],
      isError: true,
      durationMs: 0,
      ...childFacts(outcome),
    },
  ]);
}

/** A sub-agent that can't be stopped must not keep its parent from ending: it is cancelled in its log. */
function inTime({ clock, emit, state }: PerformContext, work: Promise<ChildOutcome>): Promise<ChildOutcome> {
  const nothing: ChildOutcome = { type: 'paused', childRunId: null, pending: [] };
  const stopped = work.catch((error: unknown) => {
    const message = `A sub-agent could not be stopped: ${errorText(error)}`;
    emit({ type: 'warning', afterSeq: state.seq, code: 'sub_agent_not_stopped', message });
    return nothing;
  });
  return within(clock, STOP_TIMEOUT_MS, stopped, nothing);
}
