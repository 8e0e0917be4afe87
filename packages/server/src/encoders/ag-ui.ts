import type { AssistantContent, JsonObject, JsonValue, Message, PendingCall, TreadleEvent, Usage } from '@treadle/core';
import type { Encoder, StreamEnd, StreamFormat } from './encoder.ts';
import type { ReplyFold, ReplyPart } from './parts.ts';
import { injectedMessage, noticeOf, runEncoder, type EventOf } from './run-encoder.ts';
import { resultText } from './stream-end.ts';

/** The version of the protocol that is spoken. */
const PROTOCOL_VERSION = '1.0';

/** What the client's request says, which the events of a run don't. */
export interface AgUiRequest {
  /** The client's name of the conversation. */
  readonly threadId: string;
  /** The client's name of this run: the events of one drive of ours, which may go on with an earlier run. */
  readonly runId: string;
  /** The conversation as the client has it, in the protocol's shape. It comes back when a client must forget something. */
  readonly messages: readonly JsonObject[];
  /** True for a client of version 0.0.x, which sends no `protocolVersion` and refuses what it doesn't know. Default false. */
  readonly isLegacy?: boolean;
  /** The state that the client shares with the tools; null for none. */
  readonly state?: JsonObject | null;
  /** The input that joined the open run: the client has that message already. */
  readonly joinedBy?: number | null;
  /** True where the client joins in the middle: `messages` is the conversation as the server has it. */
  readonly isRejoined?: boolean;
}

type Told = { readonly type: string } & Readonly<Record<string, JsonValue | undefined>>;

/**
 * AG-UI, version 1.0, as `HttpAgent` of `@ag-ui/client` reads it. Each request is a run of the protocol, so the format is made
 * for a request. A pause for client tools ends it as a success with `pendingToolCallIds`, a pause for an approval as an
 * interrupt, whose id is the approval's.
 *
 * Deltas can't be taken back in this protocol: where a model call failed and was made again, a `MESSAGES_SNAPSHOT` says what
 * the conversation is without them. What the protocol has no event for is a `CUSTOM` one: `treadle.compacted`,
 * `treadle.status` and `treadle.warning`.
 */
export const agUiFormat = (request: AgUiRequest): StreamFormat => ({
  name: 'ag-ui',
  contentType: 'text/event-stream',
  headers: { 'cache-control': 'no-cache' },
  ids: false,
  encoder: () => agUiEncoder(request),
});

function agUiEncoder(request: AgUiRequest): Encoder {
  const { threadId, runId: ownRunId, isLegacy = false, isRejoined = false, joinedBy = null, state = null } = request;
  let step: string | undefined;
  const messages: JsonObject[] = [...request.messages];
  const questions = new Map<string, string>();
  /** Runs of sub-agents that have not ended. */
  const subAgents = new Set<string>();
  /** Who answered last. */
  let served: { readonly provider: string; readonly model: string } | undefined;

  const hasResult = (callId: string): boolean =>
    request.messages.some((message) => message['role'] === 'tool' && message['toolCallId'] === callId);

  function closeStep(): Told[] {
    if (step === undefined) return [];
    const stepName = step;
    step = undefined;
    return [{ type: 'STEP_FINISHED', stepName }];
  }

  function reply(part: ReplyPart): Told[] {
    if (part.type === 'reply_ended') {
      messages.push(...remembered(part.message));
      served = { provider: part.message.provider, model: part.message.model };
    }
    if (part.type === 'reply_void') return [{ type: 'MESSAGES_SNAPSHOT', messages: [...messages] }];
    return replyEvents(part);
  }

  function finish(outcome: JsonObject | undefined, event: { readonly usage?: Usage }): Told[] {
    return [
      ...closeStep(),
      ...[...subAgents].map((runId) => subAgentLeft(runId)),
      {
        type: 'RUN_FINISHED',
        threadId,
        runId: ownRunId,
        ...(outcome && { outcome }),
        ...(event.usage && served ? { usage: [tokenUsage(event.usage, served)] } : {}),
      },
    ];
  }

  function fail(message: string, code: string): Told[] {
    return [...closeStep(), { type: 'RUN_ERROR', message, code }];
  }

  function paused({ pending }: EventOf<'run_paused'>): Told[] {
    const interrupts = pending.flatMap((call) => interrupt(call, questions));
    if (interrupts.length > 0) return finish({ type: 'interrupt', interrupts }, {});
    const pendingToolCallIds = pending.map(({ callId }) => callId);
    // An older client takes a success for the end: only without an outcome do its tools' results start the next request.
    return finish(isLegacy ? undefined : { type: 'success', pendingToolCallIds }, {});
  }

  function ended(event: EventOf<'run_ended'>): Told[] {
    if (event.status === 'completed') return finish({ type: 'success' }, event);
    // To an older client every end but an interrupt is a success.
    if (event.status === 'aborted') return finish({ type: isLegacy ? 'success' : 'cancelled' }, event);
    return fail(event.message ?? `The run ended as ${event.status}.`, event.status);
  }

  function ofRun(event: TreadleEvent): Told[] {
    switch (event.type) {
      case 'turn_started': {
        // Another attempt goes on in the step of the first.
        if (event.attempt > 1 && step !== undefined) return [];
        const before = closeStep();
        step = `turn ${event.turnIndex + 1}`;
        return [...before, { type: 'STEP_STARTED', stepName: step }];
      }
      case 'turn_ended':
        return closeStep();
      case 'approval_requested':
        questions.set(event.approvalId, event.question);
        return [];
      case 'tool_ended':
      case 'tool_call_rejected': {
        if (event.callId === '') return [];
        // A client's own result is among its messages already.
        if (event.type === 'tool_ended' && event.inputSeq !== undefined && hasResult(event.callId)) return [];
        const content = resultText(event.content);
        const told = toolResult(event.callId, content);
        const delta = event.type === 'tool_ended' && event.state ? [stateDelta(event.state)] : [];
        const isError = event.type === 'tool_call_rejected' || event.isError;
        const { toolCallId } = told;
        messages.push({
          id: resultId(event.callId),
          role: 'tool',
          toolCallId,
          content,
          ...(isError && { error: content }),
        });
        return [isError ? { ...told, metadata: { isError } } : told, ...delta];
      }
      case 'message_added':
        return event.inputSeq !== undefined && event.inputSeq === joinedBy ? [] : injected(event.message);
      case 'run_paused':
        return paused(event);
      case 'run_ended':
        return ended(event);
      default:
        return [];
    }
  }

  /** What reached the model in the middle of a run, besides the prompt that the client wrote itself. */
  function injected(added: Message): Told[] {
    const message = injectedMessage(added);
    if (!message) return [];
    const content = resultText(message.content);
    messages.push({ id: message.id, role: 'user', content });
    const { id: messageId } = message;
    return [
      { type: 'TEXT_MESSAGE_START', messageId, role: 'user' },
      ...(content === '' ? [] : [{ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: content }]),
      { type: 'TEXT_MESSAGE_END', messageId },
    ];
  }

  function ofSubAgent({ event, callId }: EventOf<'child_event'>, replies: ReplyFold): Told[] {
    if (!('runId' in event) || event.runId === undefined) return [];
    const { runId } = event;
    const begun: Told[] = [];
    if (!subAgents.has(runId)) {
      if (event.type !== 'run_started') return [];
      subAgents.add(runId);
      begun.push({ type: 'SUBAGENT_STARTED', subagentRunId: runId, name: event.agentId, parentToolCallId: callId });
    }
    const told = [...replies.take(event).flatMap(replyEvents), ...subAgentResult(event)].map((one) =>
      ofSub(one, runId),
    );
    if (event.type !== 'run_ended') return [...begun, ...told];
    subAgents.delete(runId);
    return [...told, subAgentEnded(event)];
  }

  const words = {
    begin: (treadleRunId: string | undefined): Told[] => [
      {
        type: 'RUN_STARTED',
        threadId,
        runId: ownRunId,
        ...(!isLegacy && { protocolVersion: PROTOCOL_VERSION }),
        ...(treadleRunId !== undefined && { metadata: { treadleRunId } }),
      },
      ...(state ? [{ type: 'STATE_SNAPSHOT', snapshot: state }] : []),
      ...(isRejoined ? [{ type: 'MESSAGES_SNAPSHOT', messages: [...messages] }] : []),
    ],
    reply,
    event: ofRun,
    beside(event: TreadleEvent): Told[] | undefined {
      const notice = noticeOf(event);
      return notice ? [{ type: 'CUSTOM', name: `treadle.${notice.name}`, value: notice.data }] : undefined;
    },
    child: ofSubAgent,
    cut: (end: StreamEnd, message: string) => fail(message, end.reason === 'failed' ? end.code : end.reason),
  };
  return runEncoder<Told>(words, (told) => ({ data: JSON.stringify(told) }));
}

export const resultId = (callId: string): string => `result_${callId}`;

const toolResult = (callId: string, content: string): Told => ({
  type: 'TOOL_CALL_RESULT',
  messageId: resultId(callId),
  toolCallId: callId,
  content,
  role: 'tool',
});

/** The id of a text in its reply: the reply's own for the first block, so that calls can name it as their parent. */
const textId = ({ messageId, index }: { readonly messageId: string; readonly index: number }): string =>
  index === 0 ? messageId : `${messageId}:${index}`;

const reasoningId = ({ messageId, index }: { readonly messageId: string; readonly index: number }): string =>
  `${messageId}:reasoning:${index}`;

/** Deltas and their frames. What the provider did by itself is told as the call and the result that it is. */
function replyEvents(part: ReplyPart): Told[] {
  switch (part.type) {
    case 'block_started':
      if (part.kind === 'text') return [{ type: 'TEXT_MESSAGE_START', messageId: textId(part), role: 'assistant' }];
      if (part.kind === 'call') return [callStarted(part.callId, part.toolName, part.messageId)];
      return [
        { type: 'REASONING_START', messageId: reasoningId(part) },
        { type: 'REASONING_MESSAGE_START', messageId: reasoningId(part), role: 'reasoning' },
      ];
    case 'block_delta':
      if (part.kind === 'text') return [{ type: 'TEXT_MESSAGE_CONTENT', messageId: textId(part), delta: part.text }];
      if (part.kind === 'call') return [{ type: 'TOOL_CALL_ARGS', toolCallId: part.callId, delta: part.text }];
      return [{ type: 'REASONING_MESSAGE_CONTENT', messageId: reasoningId(part), delta: part.text }];
    case 'block_ended':
      if (part.kind === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId: textId(part) }];
      if (part.kind === 'call') return [{ type: 'TOOL_CALL_END', toolCallId: part.callId }];
      return [
        { type: 'REASONING_MESSAGE_END', messageId: reasoningId(part) },
        { type: 'REASONING_END', messageId: reasoningId(part) },
      ];
    case 'block':
      return providerEvents(part.block, part.messageId);
    case 'reply_ended':
    case 'reply_void':
      return [];
  }
}

const callStarted = (callId: string, toolName: string, messageId: string): Told => ({
  type: 'TOOL_CALL_START',
  toolCallId: callId,
  toolCallName: toolName,
  parentMessageId: messageId,
});

function providerEvents(block: AssistantContent, messageId: string): Told[] {
  if (block.type === 'provider_tool_call') {
    const { callId: toolCallId } = block;
    return [
      callStarted(toolCallId, block.name, messageId),
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(block.arguments) },
      { type: 'TOOL_CALL_END', toolCallId },
    ];
  }
  if (block.type === 'provider_tool_result') return [toolResult(block.callId, JSON.stringify(block.raw))];
  return [];
}

/** The keys that a tool has set, as a JSON Patch: `add` replaces a key that is there. */
const stateDelta = (state: JsonObject): Told => ({
  type: 'STATE_DELTA',
  delta: Object.entries(state).map(([key, value]) => ({
    op: 'add',
    path: `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    value,
  })),
});

/** A finished reply as messages of the protocol. */
export function remembered({ id, content }: Extract<Message, { role: 'assistant' }>): JsonObject[] {
  const toolCalls = content.flatMap((block) =>
    block.type === 'tool_call'
      ? [
          {
            id: block.callId,
            type: 'function',
            function: { name: block.name, arguments: block.argumentsText ?? JSON.stringify(block.arguments) },
          },
        ]
      : [],
  );
  const said: JsonObject[] = content.flatMap((block, index): JsonObject[] => {
    const place = { messageId: id, index };
    if (block.type === 'text') return [{ id: textId(place), role: 'assistant', content: block.text }];
    if (block.type === 'thinking') return [{ id: reasoningId(place), role: 'reasoning', content: block.text }];
    return [];
  });
  if (toolCalls.length === 0) return said;
  // Calls belong to the message that has the reply's own id, whether it says something or not.
  const first = said.find((message) => message['id'] === id);
  if (!first) return [...said, { id, role: 'assistant', toolCalls }];
  return said.map((message) => (message === first ? { ...message, toolCalls } : message));
}

/** A call that waits for a person. Calls that wait for the client have no interrupt: their results are answer enough. */
function interrupt({ approvalId, callId, toolName, arguments: args }: PendingCall, questions: Map<string, string>) {
  if (approvalId === undefined) return [];
  const message = questions.get(approvalId);
  return [
    {
      id: approvalId,
      reason: 'tool_approval',
      toolCallId: callId,
      ...(message === undefined ? {} : { message }),
      metadata: { toolName, arguments: args },
      responseSchema: {
        type: 'object',
        properties: { approved: { type: 'boolean' }, message: { type: 'string' } },
        required: ['approved'],
      },
    },
  ];
}

/** Prompts count whole here, with what came out of a cache and went into it. */
function tokenUsage(
  usage: Usage,
  { provider, model }: { readonly provider: string; readonly model: string },
): JsonObject {
  const { input, output, cacheRead, cacheWrite, reasoning } = usage;
  const inputTokens = input === null ? null : input + (cacheRead ?? 0) + (cacheWrite ?? 0);
  const counts = {
    inputTokens,
    outputTokens: output,
    totalTokens: inputTokens === null || output === null ? null : inputTokens + output,
    cachedInputTokens: cacheRead,
    cacheWriteInputTokens: cacheWrite,
    reasoningTokens: reasoning,
  };
  const known = Object.entries(counts).filter((entry): entry is [string, number] => entry[1] !== null);
  return { provider, model, ...Object.fromEntries(known) };
}

const ofSub = (told: Told, runId: string): Told => ({ ...told, subagentRunId: runId });

const subAgentLeft = (runId: string): Told => ({
  type: 'SUBAGENT_FINISHED',
  subagentRunId: runId,
  outcome: { type: 'suspended' },
});

function subAgentEnded({ runId, status, message }: EventOf<'run_ended'>): Told {
  if (status === 'completed') return { type: 'SUBAGENT_FINISHED', subagentRunId: runId, outcome: { type: 'success' } };
  return { type: 'SUBAGENT_ERROR', subagentRunId: runId, message: message ?? `It ended as ${status}.`, code: status };
}

function subAgentResult(event: TreadleEvent): Told[] {
  if (event.type !== 'tool_ended' && event.type !== 'tool_call_rejected') return [];
  return event.callId === '' ? [] : [toolResult(event.callId, resultText(event.content))];
}
