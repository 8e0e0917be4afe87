import type { JsonObject, JsonValue } from '../json.ts';
import type { FileBlock, ToolResultContent } from '../messages/content.ts';
import type { PermissionUpdate } from './permission-updates.ts';
import type { FileRead, ReplayPolicy } from '../tools/tool.ts';
import type { ApprovalExtras } from './inputs.ts';
import type { InRun, InTurn } from './places.ts';

interface WaitingCall {
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  /** The session of the sub-agent whose call it is. Absent: it is of this session. */
  readonly sessionId?: string;
  /** When it is too late for an answer, in milliseconds since 1970. Resume the run then. */
  readonly expiresAt?: number;
}

/** A call that a person is to allow: `session.approve` or `session.reject`. */
export interface PendingApproval extends WaitingCall {
  readonly type: 'approval';
  readonly approvalId: string;
  /** Why it is asked, in words. Empty in logs of older versions. */
  readonly question: string;
  /** Updates that would let calls like this one run from now on. */
  readonly suggestions?: readonly PermissionUpdate[];
}

/** A call that asks a person something before it goes on: `session.answer`, or `session.reject`. */
export interface PendingQuestion extends WaitingCall {
  readonly type: 'question';
  readonly approvalId: string;
  /** Which of the call's questions it is. See `ToolResult.ask`. */
  readonly key: string;
  readonly question: string;
}

/** A call that a client is to run: `session.addToolOutput`; `session.answer` where it is `ask_user`. */
export interface PendingClientTool extends WaitingCall {
  readonly type: 'client_tool';
  readonly approvalId?: never;
}

/** What a run waits for. */
export type PendingCall = PendingApproval | PendingQuestion | PendingClientTool;

/** What is waited for, by a log that may be older than its `type`. */
export function typedPending(call: PendingCall): PendingCall {
  const { type, approvalId, ...rest }: Omit<PendingCall, 'type'> & { readonly type?: unknown } = call;
  if (type !== undefined) return call;
  return approvalId === undefined
    ? { ...rest, type: 'client_tool' }
    : { question: '', ...rest, type: 'approval', approvalId };
}

/** How a call ended, whether it ran or was refused. */
export interface EndedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
  readonly details?: JsonValue;
  /** Why it was not run; absent for a call that was. */
  readonly refused?: Extract<ToolEvent, { readonly type: 'tool_call_rejected' }>['reason'];
}

/**
 * The end of a call, for readers to whom a refused call is one that ended; null for every other event.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, defineTool } from '@treadle/core';
 * import { endedCall } from '@treadle/core/events';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const pay = defineTool({ name: 'pay', description: 'Pays.', execute: () => 'Paid.' });
 * const model = scriptedModel([{ toolCalls: [{ name: 'pay' }, { name: 'bribe' }] }, 'Done.']);
 * const session = await createSession(defineAgent({ model, tools: [pay] }));
 * for await (const event of session.prompt('Pay.')) {
 *   const call = endedCall(event);
 *   if (call) console.log(call.toolName, call.isError, call.refused); // bribe true unknown_tool
 * }
 * ```
 */
export function endedCall(event: { readonly type: string } | ToolEvent): EndedCall | null {
  if (!isCallEnd(event)) return null;
  const { callId, toolName, content } = event;
  if (event.type === 'tool_call_rejected') {
    // A reply without a call is no call.
    return callId === '' ? null : { callId, toolName, content, isError: true, refused: event.reason };
  }
  const { isError, details } = event;
  return { callId, toolName, content, isError, ...(details === undefined ? {} : { details }) };
}

const isCallEnd = (
  event: { readonly type: string } | ToolEvent,
): event is Extract<ToolEvent, { readonly type: 'tool_ended' | 'tool_call_rejected' }> =>
  event.type === 'tool_ended' || event.type === 'tool_call_rejected';

/** Durable: what becomes of the calls of a reply, and of the questions about them. */
export type ToolEvent =
  | (InTurn & {
      readonly type: 'tool_call_rejected';
      readonly at: number;
      readonly callId: string;
      readonly toolName: string;
      readonly reason:
        | 'unknown_tool'
        /** The reply called no tool where one was wanted. It names no tool and belongs to no call. */
        | 'no_call'
        | 'invalid_json'
        | 'invalid_xml'
        /** The call doesn't say which tool it is for. */
        | 'missing_field'
        | 'not_an_object'
        /** The arguments have more levels than `MAX_JSON_DEPTH`. */
        | 'too_deep'
        | 'cut_off'
        | 'invalid_arguments'
        | 'in_doubt'
        | 'cancelled'
        /** The run's tool calls are used up. */
        | 'limit'
        /** The reply had more calls than one may have. */
        | 'too_many_calls'
        /** A hook said no. */
        | 'hook'
        /** The permissions, or a person, said no. */
        | 'denied'
        /** No more sub-agents may be started: so deep, or in this run. */
        | 'sub_agent_limit'
        /** Nobody answered in time. */
        | 'expired';
      readonly content: readonly ToolResultContent[];
    })
  | (InTurn & {
      readonly type: 'tool_started';
      readonly at: number;
      readonly callId: string;
      readonly toolName: string;
      readonly arguments: JsonObject;
      readonly idempotencyKey: string;
      readonly replay: ReplayPolicy;
      readonly runs: 'server' | 'client';
      readonly attempt: number;
      /** It runs only in the sandbox that its tool promised when it said that the call changes nothing. */
      readonly confined?: boolean;
      /** It never ran: steering came first, and its end follows at once. */
      readonly skipped?: true;
      /** The session of the sub-agent that the call starts, or goes on with. */
      readonly childSessionId?: string;
      /** Of a client's call: a result that is posted at this time or later counts for nothing. */
      readonly expiresAt?: number;
    })
  | (InTurn & {
      readonly type: 'tool_ended';
      readonly at: number;
      readonly callId: string;
      readonly toolName: string;
      readonly content: readonly ToolResultContent[];
      readonly isError: boolean;
      /** Never sent to a model. */
      readonly details?: JsonValue;
      readonly files?: readonly FileBlock[];
      /** What the call read or wrote of files: see `ToolContext.lastRead`. */
      readonly reads?: readonly FileRead[];
      /** Keys of the shared state that the call has set: see `ToolContext.state`. */
      readonly state?: JsonObject;
      readonly durationMs: number;
      readonly skipped?: true;
      /** The run a sub-agent's call started. */
      readonly childRunId?: string;
      /** US dollars that a sub-agent and its own ones spent of what is limited: they count against the run's `maxCost`. */
      readonly childSpent?: number;
      /** The input that brought a client tool's result. */
      readonly inputSeq?: number;
    })
  /** The call's sub-agent waits for somebody: the call goes on once it was answered. */
  | (InTurn & {
      readonly type: 'tool_paused';
      readonly at: number;
      readonly callId: string;
      readonly toolName: string;
      readonly childSessionId: string;
      readonly childRunId?: string;
      /** What is waited for there, and below. Empty when another process is at work on it. */
      readonly pending: readonly PendingCall[];
    })
  | (InTurn & {
      readonly type: 'approval_requested';
      readonly at: number;
      readonly approvalId: string;
      readonly callId: string;
      readonly toolName: string;
      readonly arguments: JsonObject;
      readonly question: string;
      /** Present when the call itself asks, after its start: which of its questions this is. See `ToolResult.ask`. */
      readonly key?: string;
      /** What the call needs to go on after that question. */
      readonly state?: JsonValue;
      /** The rule that wants it to be asked for, if one does. */
      readonly rule?: string;
      /** Updates that would let calls like this one run from now on. */
      readonly suggestions?: readonly PermissionUpdate[];
      /** An answer that is posted at this time or later counts for nothing, and the call is not run. */
      readonly expiresAt?: number;
    })
  | (InRun &
      ApprovalExtras & {
        readonly type: 'approval_answered';
        readonly at: number;
        readonly approvalId: string;
        readonly decision: 'approve' | 'reject';
        readonly message?: string;
        /** Who has answered, as far as it is known. */
        readonly by?: string;
        readonly inputSeq: number;
      });
