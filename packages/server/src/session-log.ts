import { isDurable, type DurableEvent, type RunStatus, type Session } from '@treadle/core';
import type { Log, LogRecord } from './log.ts';

/** What a log says of an event: names, counts and ids, and no word of what was asked, answered, called with or returned. */
export interface SessionLogEntry {
  readonly level: LogRecord['level'];
  readonly event: DurableEvent['type'];
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A name that a model has made up may be long. */
const MAX_NAME = 100;

/** Somebody wanted these ends. What else runs end with is worth a look. */
const WANTED: ReadonlySet<RunStatus> = new Set(['completed', 'aborted', 'rejected', 'stopped']);

function levelOfEnd(status: RunStatus): LogRecord['level'] {
  if (status === 'model_error') return 'error';
  return WANTED.has(status) ? 'info' : 'warning';
}

/**
 * An event of a session as an entry of a log; null for those that a log says nothing of. A projection: the same event gives the
 * same entry, whoever reads it and when.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, isDurable } from '@treadle/core';
 * import { sessionLogEntry } from '@treadle/server';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }));
 * session.subscribe((event) => {
 *   const entry = isDurable(event) ? sessionLogEntry(event) : null;
 *   if (entry) console.log(entry.level, entry.event, entry.fields);
 * });
 * await session.prompt('Hi').result;
 * ```
 */
export function sessionLogEntry(event: DurableEvent): SessionLogEntry | null {
  const [level, fields] = lineOf(event);
  if (level === null) return null;
  const all: Fields = { runId: 'runId' in event ? event.runId : undefined, ...fields };
  const kept = Object.entries(all).filter(([, value]) => value !== undefined && value !== null);
  return { level, event: event.type, fields: Object.fromEntries(kept) as SessionLogEntry['fields'] };
}

function lineOf(event: DurableEvent): readonly [level: LogRecord['level'] | null, fields?: Fields] {
  switch (event.type) {
    case 'drive_started':
      return ['info', { epoch: event.epoch, owner: event.owner }];
    case 'run_started':
      return ['info', { agentId: event.agentId, parentRunId: event.parentRunId }];
    case 'run_paused':
      return ['info', { reason: event.reason, pending: event.pending.length }];
    case 'run_ended': {
      const { status, turns, cost, usage, error } = event;
      const tokens = { inputTokens: usage.input, outputTokens: usage.output };
      return [levelOfEnd(status), { status, turns, cost, ...tokens, errorKind: error?.kind }];
    }
    case 'attempt_failed': {
      const { attempt, error, retry } = event;
      return ['warning', { attempt, errorKind: error.kind, status: error.status, retryInMs: retry?.delayMs }];
    }
    case 'tool_ended': {
      const { toolName, callId, durationMs, isError } = event;
      return [isError ? 'warning' : 'info', { tool: shortened(toolName), callId, ms: durationMs, isError }];
    }
    case 'tool_call_rejected':
      return ['warning', { tool: shortened(event.toolName), callId: event.callId, reason: event.reason }];
    case 'approval_requested':
      return ['info', { tool: shortened(event.toolName), approvalId: event.approvalId }];
    case 'approval_answered':
      return ['info', { approvalId: event.approvalId, decision: event.decision }];
    case 'compacted':
      return ['info', { tokensBefore: event.tokensBefore, tokensAfter: event.tokensAfter }];
    default:
      return [null];
  }
}

const shortened = (name: string): string => name.slice(0, MAX_NAME);

/** Writes a session's events to the log, and has it watched by whoever else wants to. Returns what ends both. */
export function watchSession(
  session: Session,
  log: Log | null,
  onSession: ((session: Session) => () => void) | undefined,
): () => void {
  const stopLogging = session.subscribe((event) => {
    const entry = log && isDurable(event) ? sessionLogEntry(event) : null;
    if (entry) log?.(entry.level, entry.event, { sessionId: session.id, ...entry.fields });
  });
  const stopWatching = onSession?.(session);
  return () => {
    stopLogging();
    stopWatching?.();
  };
}
