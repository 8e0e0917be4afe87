import type { Agent } from '../../agent/agent.ts';
import type { Continuation, DurableEventBody, InputMessage, Notice, RunStatus } from '../../events/events.ts';
import { type ModelError, type StopReason, UNKNOWN_USAGE } from '../../model/model.ts';
import type { LimitHit } from '../services/limits.ts';
import { nextRunId } from '../services/run-id.ts';
import type { InboxEntry, RunState, SessionState } from '../state.ts';

/** What planning needs to know of a run, whether it is in the log yet or about to be. */
export type NewRun = Pick<RunState, 'runId' | 'continuation' | 'startedBy' | 'modelIndex' | 'usage' | 'cost' | 'turns'>;

/** A run about to start: the event that starts it, and what its prompt says. */
export interface StartedRun {
  readonly run: NewRun;
  readonly event: DurableEventBody;
  readonly messages: readonly DurableEventBody[];
}

/** An input as a user message of the history. Its id is derived, so that planning stays free of randomness. */
export function inputMessage(
  runId: string,
  at: number,
  inputSeq: number,
  origin: 'prompt' | 'steering' | 'follow_up',
  { content, pinned }: InputMessage,
  index: number,
): DurableEventBody {
  const id = `input_${inputSeq}${index === 0 ? '' : `_${index}`}`;
  return {
    type: 'message_added',
    at,
    runId,
    inView: true,
    inputSeq,
    message: { role: 'user', id, at, origin, content, ...(pinned ? { pinned } : {}) },
  };
}

export function rejectInput(entry: InboxEntry, at: number, reason: string, runId?: string): DurableEventBody {
  return { type: 'input_rejected', at, inputSeq: entry.seq, reason, ...(runId === undefined ? {} : { runId }) };
}

/** The end of a run, with what it came to so far. */
export function endRun(
  run: NewRun,
  at: number,
  status: RunStatus,
  stopReason: StopReason | null,
  more: {
    readonly message?: string;
    readonly error?: ModelError;
    readonly stopCallId?: string;
    readonly handoff?: Extract<DurableEventBody, { type: 'run_ended' }>['handoff'] & object;
    readonly inputSeq?: number;
  } = {},
): DurableEventBody {
  const { runId, usage, cost, turns } = run;
  return { type: 'run_ended', at, runId, status: status, stopReason, ...more, usage, cost, turns };
}

/** What the history says about a run that was stopped. */
export function limitMessage(run: RunState, at: number, { limit, message }: LimitHit, more = ''): DurableEventBody {
  return notice(run, at, 'limit', 'limit', { type: 'limit', limit }, `[Agent stopped: ${message}]${more}`);
}

/** A message of the runtime's own, said once. */
export function notice(
  run: RunState,
  at: number,
  name: string,
  origin: 'limit' | 'reminder',
  about: Notice,
  text: string,
): DurableEventBody {
  const message = { role: 'user', id: `${run.runId}.${name}`, at, origin, content: [{ type: 'text', text }] } as const;
  return { type: 'message_added', at, runId: run.runId, inView: true, notice: about, message };
}

/** The events that start a run from a prompt or a continuation. */
export function startRun(state: SessionState, agent: Agent, { seq, input }: InboxEntry, at: number): StartedRun {
  const { configSegment, id: agentId, snapshot: config } = agent;
  const { runId, ordinal } = nextRunId(state, agent);
  const asked = input.type === 'prompt' || input.type === 'continue' ? input : null;
  const continuation: Continuation = asked?.continuation ?? { kind: 'initial' };
  const messages = input.type === 'prompt' ? input.messages : [];
  const above = input.type === 'prompt' ? input.parentRunId : undefined;
  const parentRunId =
    continuation.kind === 'initial' ? above : (state.lastRunId ?? ('of' in continuation ? continuation.of : undefined));
  const startedBy = (input.type === 'prompt' && input.startedBy) || 'user';
  return {
    run: { runId, continuation, startedBy, modelIndex: 0, usage: UNKNOWN_USAGE, cost: 0, turns: 0 },
    event: {
      type: 'run_started',
      at,
      runId,
      agentId,
      ...(parentRunId === undefined ? {} : { parentRunId }),
      continuation,
      configSegment,
      ordinal,
      config,
      startedBy,
      ...(asked?.metadata === undefined ? {} : { metadata: asked.metadata }),
      ...(asked?.limits === undefined ? {} : { limits: asked.limits }),
      ...(asked?.clientTools === undefined ? {} : { clientTools: asked.clientTools }),
      inputSeq: seq,
    },
    messages: messages.map((message, index) => inputMessage(runId, at, seq, 'prompt', message, index)),
  };
}

/** What the prompt said and the history doesn't have yet: all of it at the start, nothing later. */
export function promptMessages(state: SessionState, run: RunState, at: number): readonly DurableEventBody[] {
  const entry = state.inbox.find(({ seq }) => seq === run.inputSeq);
  if (entry?.input.type !== 'prompt') return [];
  const messages = entry.input.messages.map((message, index) =>
    inputMessage(run.runId, at, run.inputSeq, 'prompt', message, index),
  );
  return messages.slice(run.promptAdded);
}
