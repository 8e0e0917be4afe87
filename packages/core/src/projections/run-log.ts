import type { DurableEvent } from '../events/events.ts';
import { isJsonObject, type JsonObject, defined } from '../json.ts';
import { viewSizeFold } from './view-size.ts';

/** What an entry of a run log is about. */
export type RunLogAction =
  | 'run_started'
  | 'user_message'
  | 'api_response_received'
  | 'api_call_failed'
  | 'tool_execution'
  | 'tool_call_rejected'
  | 'awaiting_frontend_tools'
  | 'frontend_tools_completed'
  | 'awaiting_approval'
  | 'approval_answered'
  | 'compaction'
  | 'final_summary_generation'
  | 'final_answer_validation_failed'
  | 'memory_retrieval'
  | 'memory_update'
  | 'run_completed';

/** One step of a run, for whoever wants to see how it went. */
export interface RunLogEntry {
  /** Unique in the session, and the same whenever the log is read: its event's number. */
  readonly logId: string;
  readonly sessionId: string;
  readonly agentId: string | null;
  /** Null for a compaction while no run was open. */
  readonly runId: string | null;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The turn, from 1; null before the first. */
  readonly step: number | null;
  readonly action: RunLogAction;
  /** What there is to say of it, by action. */
  readonly data: JsonObject;
  /** The messages a model would be sent after it. */
  readonly messagesCount: number;
  /** What they weigh, by an estimate, without the system prompt and the tools. */
  readonly estimatedTokens: number;
}

/** Folds events into a run log. */
export interface RunLogFold {
  /** The entry this event adds, or null. */
  take(event: DurableEvent): RunLogEntry | null;
}

/**
 * The run log of a session: what each run did, step by step, with the size of the conversation at each.
 *
 * @param runId only of this run
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal } from '@treadle/core';
 * import { runLog } from '@treadle/core/projections';
 * import { logOf, scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal });
 * await session.prompt('Hi').result;
 *
 * const entries = runLog(await logOf(journal, session.id));
 * console.log(entries.map(({ action }) => action).join(', '));
 * // run_started, user_message, api_response_received, run_completed
 * ```
 */
export function runLog(events: Iterable<DurableEvent>, runId?: string): RunLogEntry[] {
  const fold = runLogFold();
  const entries: RunLogEntry[] = [];
  for (const event of events) {
    const entry = fold.take(event);
    if (entry && (runId === undefined || entry.runId === runId)) entries.push(entry);
  }
  return entries;
}

/** What earlier events say about later ones. */
interface Known {
  sessionId: string;
  agentId: string | null;
  step: number | null;
  /** Arguments of calls that are under way. */
  readonly started: Map<string, JsonObject>;
  /** Results a client brought that no entry has told of yet: the calls, by the input. */
  readonly brought: Map<number, readonly string[]>;
}

interface Said {
  readonly action: RunLogAction;
  readonly data: object;
}

/** Starts the fold of a session's run log. Feed it the session's log from the beginning. */
export function runLogFold(): RunLogFold {
  const known: Known = { sessionId: '', agentId: null, step: null, started: new Map(), brought: new Map() };
  const size = viewSizeFold();
  return {
    take(event) {
      size.take(event);
      note(known, event);
      const said = sayOf(known, event);
      if (!said) return null;
      return {
        logId: String(event.seq),
        sessionId: known.sessionId,
        agentId: known.agentId,
        runId: ('runId' in event ? event.runId : undefined) ?? null,
        at: event.at,
        step: known.step,
        action: said.action,
        // Parts of events, which are JSON; an interface just doesn't say so.
        data: said.data as JsonObject,
        messagesCount: size.messages,
        estimatedTokens: size.tokens,
      };
    },
  };
}

function note(known: Known, event: DurableEvent): void {
  switch (event.type) {
    case 'session_created':
      known.sessionId = event.sessionId;
      known.agentId = event.agentId ?? known.agentId;
      return;
    case 'input_received':
      if (event.input.type === 'client_tool_results') {
        known.brought.set(
          event.seq,
          event.input.results.map(({ callId }) => callId),
        );
      }
      return;
    case 'run_started':
      known.agentId = event.agentId;
      known.step = null;
      return;
    case 'turn_started':
      known.step = event.turnIndex + 1;
      return;
    case 'tool_started':
      known.started.set(event.callId, event.arguments);
      return;
    case 'run_ended':
      known.started.clear();
      known.brought.clear();
      // A run that never started is at no step.
      if (event.inputSeq !== undefined) known.step = null;
      return;
    default:
  }
}

function sayOf(known: Known, event: DurableEvent): Said | null {
  switch (event.type) {
    case 'run_started':
      return say('run_started', event, ['parentRunId', 'continuation', 'config', 'metadata', 'limits']);
    case 'turn_started':
      return event.closing ? { action: 'final_summary_generation', data: event.closing } : null;
    case 'message_added':
      return sayOfMessage(event);
    case 'attempt_failed':
      return say('api_call_failed', event, ['attempt', 'error', 'retry', 'usage', 'cost']);
    case 'tool_ended':
      return sayOfResult(known, event);
    case 'tool_call_rejected':
      return say('tool_call_rejected', event, ['callId', 'toolName', 'reason']);
    case 'run_paused':
      return say(event.reason === 'client_tools' ? 'awaiting_frontend_tools' : 'awaiting_approval', event, ['pending']);
    case 'approval_answered':
      return say('approval_answered', event, ['approvalId', 'decision', 'message']);
    case 'compacted': {
      const { type: _, at: _at, seq: _seq, view: _view, runId: _run, turnIndex: _turn, ...facts } = event;
      return { action: 'compaction', data: { ok: true, ...facts } };
    }
    case 'compaction_failed':
      return say('compaction', { ok: false, ...event }, ['ok', 'trigger', 'reason', 'message']);
    case 'decision_made':
      return sayOfDecision(event);
    case 'run_ended':
      return say('run_completed', event, ['status', 'stopReason', 'error', 'message', 'usage', 'cost', 'turns']);
    default:
      return null;
  }
}

/** An entry that has these fields of an event, as far as they are there. */
const say = <Event extends object>(
  action: RunLogAction,
  event: Event,
  fields: readonly (keyof Event & string)[],
): Said => ({ action, data: defined(Object.fromEntries(fields.map((field) => [field, event[field]]))) });

function sayOfMessage({ message, inView }: Extract<DurableEvent, { type: 'message_added' }>): Said | null {
  if (message.role === 'user') {
    return { action: 'user_message', data: { messageId: message.id, origin: message.origin } };
  }
  if (message.role !== 'assistant') return null;
  const { id: messageId, provider, model, stopReason, usage, cost, content } = message;
  const toolCalls = content.flatMap((block) =>
    block.type === 'tool_call' ? [{ callId: block.callId, toolName: block.name }] : [],
  );
  return {
    action: 'api_response_received',
    data: { messageId, provider, model, stopReason, usage, cost, toolCalls, inView },
  };
}

/** What a client brings comes together, and is told of once. */
function sayOfResult(known: Known, event: Extract<DurableEvent, { type: 'tool_ended' }>): Said | null {
  const { callId, toolName, isError, durationMs, inputSeq, skipped, childRunId } = event;
  const args = known.started.get(callId);
  known.started.delete(callId);
  const brought = inputSeq === undefined ? undefined : known.brought.get(inputSeq);
  if (inputSeq !== undefined && brought) {
    known.brought.set(inputSeq, []);
    return brought.length === 0 ? null : { action: 'frontend_tools_completed', data: { callIds: brought } };
  }
  const data = { callId, toolName, arguments: args, isError, durationMs, skipped, childRunId };
  return { action: 'tool_execution', data: defined(data) };
}

function sayOfDecision({ kind, key, decision }: Extract<DurableEvent, { type: 'decision_made' }>): Said | null {
  if (!isJsonObject(decision)) return null;
  if (kind === 'check' && decision['ok'] === false) {
    return { action: 'final_answer_validation_failed', data: defined({ message: decision['message'] }) };
  }
  if (kind !== 'memory') return null;
  const { updated, problem, content } = decision;
  if (key.startsWith('memory_update:')) return { action: 'memory_update', data: defined({ updated, problem }) };
  return {
    action: 'memory_retrieval',
    data: defined({ found: Array.isArray(content) ? content.length : 0, problem }),
  };
}
