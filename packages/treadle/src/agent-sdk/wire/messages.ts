import { isDurable, type DurableEvent, type JsonObject, type TreadleEvent } from '@treadle/core';
import { endedCall } from '@treadle/core/events';

import { wireBlock, wireMessage, wireResult } from './content.ts';
import { uuidOf } from './ids.ts';
import { resultProjection, type ModelFacts } from './result.ts';
import { streamProjection } from './stream.ts';
import { hookMessages } from './hook-messages.ts';
import { taskMessages } from './task-messages.ts';
import { stopReasonOf } from './usage.ts';
import { wireName } from './tools.ts';

/** What the messages of a session depend on besides its events. */
export interface ProjectionOptions {
  readonly sessionId: string;
  /** The session's working folder: paths on the wire are absolute. */
  readonly folder: string;
  /** What the agent has now: told at the beginning of each run. */
  readonly init: () => JsonObject;
  readonly models: ModelFacts;
  /** Stream events too. */
  readonly partial: boolean;
  /** What hooks decided too. */
  readonly hooks: boolean;
}

/** A message without its id and its session. */
type Body = JsonObject;

/**
 * The messages of a session: a function of its events. Each has a `uuid` that is the same whenever the same events are
 * projected.
 */
export function messageProjection(options: ProjectionOptions) {
  const { sessionId, folder } = options;
  const results = resultProjection(folder, options.models);
  const own = sessionMessages(options, null);
  /** By the sub-agent's session. */
  const children = new Map<string, ReturnType<typeof sessionMessages>>();
  let order = 0;
  let lastSeq = 0;

  function child(callId: string, childId: string): ReturnType<typeof sessionMessages> {
    const known = children.get(childId) ?? sessionMessages({ ...options, sessionId: childId }, callId);
    children.set(childId, known);
    return known;
  }

  function bodies(event: TreadleEvent): readonly Body[] {
    if (event.type === 'child_event') {
      const { callId, sessionId: childId, event: inner } = event;
      if (isDurable(inner)) results.takeOfChild(childId, inner);
      return child(callId, childId).take(inner);
    }
    if (!isDurable(event)) return own.take(event);
    results.take(sessionId, event);
    const said = own.take(event);
    if (event.type === 'run_started') return [...said, { type: 'system', subtype: 'init', ...options.init() }];
    return event.type === 'run_ended' ? [...said, results.result(event)] : said;
  }

  return {
    take(event: TreadleEvent): readonly JsonObject[] {
      if (isDurable(event)) {
        lastSeq = event.seq;
        order = 0;
      }
      return bodies(event).map(({ uuid, ...body }) => {
        order += 1;
        return { ...body, uuid: uuid ?? uuidOf(sessionId, lastSeq, order), session_id: sessionId };
      });
    },
    /** An event that an earlier process has told of. */
    recall(event: DurableEvent): void {
      results.recall(event);
      own.recall(event);
      lastSeq = event.seq;
    },
    /** US dollars that this process has spent, as far as that is known. */
    spent: results.spent,
    /** The same by model. */
    modelUsage: results.modelUsage,
  };
}

/** The id by which a client knows the message of a prompt: its own, where it gave one. */
const promptUuid = (sessionId: string, messageId: string): string => uuidOf(sessionId, messageId);

function sessionMessages(options: ProjectionOptions, parentCallId: string | null) {
  const { folder, sessionId } = options;
  const stream = options.partial ? streamProjection(folder) : null;
  const tasks = taskMessages();
  const parent = { parent_tool_use_id: parentCallId };
  let model = '';

  const streamed = (events: readonly JsonObject[]): Body[] =>
    events.map((event) => ({ type: 'stream_event', event, ...parent }));

  function message(event: Extract<DurableEvent, { readonly type: 'message_added' }>): readonly Body[] {
    const said = event.message;
    if (said.role === 'user') return userMessage(event);
    if (said.role !== 'assistant') return [];
    const ends = streamed(stream?.ended(said) ?? []);
    if (said.stopReason === 'error') return ends;
    const stopReason = stopReasonOf(said.stopReason);
    const blocks = said.content.map((block) => wireBlock(block, folder));
    const messages = blocks.map((block, index) => ({
      type: 'assistant',
      message: wireMessage(said, block, index === blocks.length - 1, stopReason),
      ...parent,
      ...(said.stopReason === 'length' ? { error: 'max_output_tokens' } : {}),
      uuid: uuidOf(sessionId, said.id, index),
    }));
    return [...ends, ...messages];
  }

  function userMessage({ message: said }: Extract<DurableEvent, { readonly type: 'message_added' }>): readonly Body[] {
    if (said.role !== 'user' || parentCallId !== null || !PERSON.has(said.origin)) return [];
    const content = wireResult(said.content);
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const uuid = promptUuid(sessionId, said.id);
    return [{ type: 'user', message: { role: 'user', content: blocks }, ...parent, isReplay: true, uuid }];
  }

  function callEnd(event: DurableEvent): readonly Body[] {
    const call = endedCall(event);
    if (!call) return [];
    const { callId, content, isError, details, toolName } = call;
    const result = wireResult(content);
    const block = { type: 'tool_result', tool_use_id: callId, content: result, is_error: isError };
    const told = {
      type: 'user',
      message: { role: 'user', content: [block] },
      ...parent,
      tool_use_result: details ?? result,
    };
    if (call.refused !== 'denied' && call.refused !== 'hook') return [told];
    const said = typeof result === 'string' ? result : '';
    return [
      {
        type: 'system',
        subtype: 'permission_denied',
        tool_name: wireName(toolName),
        tool_use_id: callId,
        message: said,
      },
      told,
    ];
  }

  return {
    recall(event: DurableEvent): void {
      if (event.type === 'run_started') ({ model } = event.config);
      tasks.take(event);
    },
    take(event: TreadleEvent): readonly Body[] {
      switch (event.type) {
        case 'run_started':
          ({ model } = event.config);
          return [];
        case 'message_started':
          return streamed(stream?.started(event.messageId, model) ?? []);
        case 'message_delta':
          return streamed(stream?.delta(event) ?? []);
        case 'message_added':
          return message(event);
        case 'tool_started':
          return tasks.take(event);
        case 'tool_ended':
        case 'tool_call_rejected':
          return [...tasks.take(event), ...callEnd(event)];
        case 'tool_progress':
          return [
            {
              type: 'tool_progress',
              tool_use_id: event.callId,
              tool_name: wireName(event.toolName),
              ...parent,
              elapsed_time_seconds: Math.round(event.elapsedMs / 100) / 10,
            },
          ];
        case 'task_updated':
        case 'task_progress':
        case 'input_received':
          return tasks.take(event);
        case 'attempt_failed':
          return retry(event);
        case 'compacted':
          return [
            {
              type: 'system',
              subtype: 'compact_boundary',
              compact_metadata: {
                trigger: event.trigger === 'manual' ? 'manual' : 'auto',
                pre_tokens: event.tokensBefore,
                post_tokens: event.tokensAfter,
              },
            },
          ];
        case 'status':
          return [{ type: 'system', subtype: 'status', status: event.status }];
        case 'decision_made':
          return options.hooks ? hookMessages(event) : [];
        default:
          return [];
      }
    },
  };
}

const PERSON: ReadonlySet<string> = new Set(['prompt', 'steering', 'follow_up']);

function retry({ attempt, error, retry: next }: Extract<DurableEvent, { readonly type: 'attempt_failed' }>): Body[] {
  if (!next) return [];
  return [
    {
      type: 'system',
      subtype: 'api_retry',
      attempt,
      max_retries: Math.max(attempt, MAX_RETRIES),
      retry_delay_ms: next.delayMs,
      error_status: error.status ?? null,
      error: error.message,
    },
  ];
}

/** As core's default; a retry that comes later than the last one is of another model. */
const MAX_RETRIES = 10;
