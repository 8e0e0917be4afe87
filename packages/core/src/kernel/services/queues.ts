import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody, QueueKind } from '../../events/events.ts';
import { callKey } from '../perform/call-key.ts';
import { inputMessage, rejectInput } from '../plan/run-events.ts';
import type { InboxEntry, RunState, SessionState, TurnState } from '../state.ts';
import type { Step } from '../step.ts';

const isQueued = ({ input }: InboxEntry): boolean => input.type === 'steering' || input.type === 'follow_up';

/** What the queue delivers now: the oldest message, or all of them, as the agent has it. */
export function deliver(
  state: SessionState,
  agent: Agent,
  kind: QueueKind,
  runId: string,
  now: number,
): DurableEventBody[] {
  // Most of the time nobody has said anything.
  if (state.inbox.length === 0) return [];
  const mode = kind === 'steering' ? agent.steeringMode : agent.followUpMode;
  const messages = state.inbox.flatMap(({ seq, input }) =>
    (input.type === 'steering' || input.type === 'follow_up') && input.type === kind
      ? [inputMessage(runId, now, seq, kind, input.message, 0)]
      : [],
  );
  return mode === 'all' ? messages : messages.slice(0, 1);
}

/** What the model reads instead of the result of a call that was skipped. */
export const SKIPPED = 'Skipped due to queued user message.';

/**
 * Between calls that don't run side by side, steering goes first: those of the turn that haven't started get a start, an
 * end and a result without having run, and the message reaches the model with them.
 */
export function skipCalls(
  state: SessionState,
  run: RunState,
  turn: TurnState,
  agent: Agent,
  at: number,
): DurableEventBody[] {
  if (agent.toolExecution.mode === 'parallel' || state.inbox.length === 0) return [];
  if (!state.inbox.some(({ input }) => input.type === 'steering')) return [];
  if (!turn.calls.some(({ attempt }) => attempt > 0)) return [];
  const place = { at, runId: run.runId, turnIndex: turn.index };
  return turn.calls
    .filter(({ status }) => status === 'requested')
    .flatMap((call): DurableEventBody[] => {
      const tool = agent.tools.get(call.name);
      const named = { callId: call.callId, toolName: call.name, skipped: true } as const;
      return [
        {
          type: 'tool_started',
          ...place,
          ...named,
          arguments: call.arguments,
          idempotencyKey: callKey(state, call),
          replay: tool?.replay ?? 'never',
          runs: tool?.runs ?? 'server',
          attempt: 1,
        },
        {
          type: 'tool_ended',
          ...place,
          ...named,
          content: [{ type: 'text', text: SKIPPED }],
          isError: true,
          durationMs: 0,
        },
      ];
    });
}

/**
 * A run that ends says which of the messages that were posted during it nobody has delivered. What was queued before it
 * began is kept for the next one.
 */
export function reportUndelivered(state: SessionState, step: Step, at: number): Step {
  const { run, inbox } = state;
  if (run === null || inbox.length === 0 || step.type !== 'record') return step;
  const end = step.events.at(-1);
  if (end?.type !== 'run_ended') return step;
  const settled = new Set(step.events.map((event) => ('inputSeq' in event ? event.inputSeq : undefined)));
  const left = inbox.filter((entry) => isQueued(entry) && entry.seq > run.startedSeq && !settled.has(entry.seq));
  if (left.length === 0) return step;
  const reason = `Not delivered: the run ended first (${end.status}).`;
  const reports = left.map((entry) => rejectInput(entry, at, reason, run.runId));
  return { type: 'record', events: [...step.events.slice(0, -1), ...reports, end] };
}
