import type { AssistantContent, JsonObject, JsonValue, TreadleEvent } from '@treadle/core';
import type { Encoder, Frame, StreamEnd, StreamFormat } from './encoder.ts';
import type { ReplyPart } from './parts.ts';
import { injectedMessage, noticeOf, runEncoder, type EventOf } from './run-encoder.ts';
import { resultText } from './stream-end.ts';

/** A chunk of the UI message stream: its `type` and whatever belongs to it. */
type Chunk = { readonly type: string } & Readonly<Record<string, JsonValue | undefined>>;

/**
 * The UI message stream, version 1, of the AI SDK: what its `DefaultChatTransport` reads. One run is one message, whose id is
 * the run's: a run that goes on after a pause goes on in the same message.
 *
 * What the protocol has no chunk for is a `data-…` chunk, for clients know no other types and fail on them: `data-message`
 * (steering and follow-ups that reached the model), `data-subagent` (a sub-agent's state, under its run's id),
 * `data-discarded` (parts that are void, for their model call failed and was made again; clients can't take a part back, so
 * each part of text names itself in its `providerMetadata.treadle.part`), and, not kept in the message, `data-status`,
 * `data-warning` and `data-compaction`.
 */
export const aiSdkFormat = (request: AiSdkRequest): StreamFormat => ({
  name: 'ai-sdk',
  contentType: 'text/event-stream',
  headers: {
    'x-vercel-ai-ui-message-stream': 'v1',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  },
  ids: false,
  encoder: () => aiSdkEncoder(request),
});

/** What a request says that the events of a run don't. */
export interface AiSdkRequest {
  /** True for a tool that pages know: its parts have the type `tool-NAME`. All others are `dynamic-tool`. */
  readonly isTool: (name: string) => boolean;
  /** The client's message that the stream goes on with. Default: a new one, with the run's id. */
  readonly messageId?: string | null;
  /** The input that joined the open run: what the run says from there on is a message of its own. */
  readonly joinedBy?: number | null;
}

function aiSdkEncoder({ isTool, messageId = null, joinedBy = null }: AiSdkRequest): Encoder {
  /** Calls whose parts the message has. Null where it had some before the stream. */
  const shown = joinedBy === null ? null : new Set<string>();
  let stepOpen = false;
  /** The parts of the reply that is being streamed. */
  let openParts: string[] = [];
  /** Its calls: their tools' names, by id. */
  const openCalls = new Map<string, string>();
  /** Calls that the provider executes. */
  const byProvider = new Set<string>();

  const kind = (toolName: string): Kind => (isTool(toolName) ? {} : { dynamic: true });

  const isShown = (callId: string): boolean => callId !== '' && shown?.has(callId) !== false;

  function openStep(): Chunk[] {
    if (stepOpen) return [];
    stepOpen = true;
    return [{ type: 'start-step' }];
  }

  function closeStep(): Chunk[] {
    if (!stepOpen) return [];
    stepOpen = false;
    return [{ type: 'finish-step' }];
  }

  function finish(finishReason: string, messageMetadata: JsonObject): Chunk[] {
    return [...closeStep(), { type: 'finish', finishReason, messageMetadata }];
  }

  function reply(part: ReplyPart): Chunk[] {
    switch (part.type) {
      case 'block_started':
        if (part.kind === 'call') {
          openCalls.set(part.callId, part.toolName);
          shown?.add(part.callId);
          return [
            { type: 'tool-input-start', toolCallId: part.callId, toolName: part.toolName, ...kind(part.toolName) },
          ];
        }
        openParts.push(blockId(part));
        return [
          {
            type: `${streamOf(part.kind)}-start`,
            id: blockId(part),
            providerMetadata: { treadle: { part: blockId(part) } },
          },
        ];
      case 'block_delta':
        if (part.kind === 'call')
          return [{ type: 'tool-input-delta', toolCallId: part.callId, inputTextDelta: part.text }];
        return [{ type: `${streamOf(part.kind)}-delta`, id: blockId(part), delta: part.text }];
      case 'block_ended':
        // The input of a call is whole when its message is: it may have been cut off.
        return part.kind === 'call' ? [] : [{ type: `${streamOf(part.kind)}-end`, id: blockId(part) }];
      case 'block':
        return wholeBlock(part.block, byProvider);
      case 'reply_ended':
        forget();
        return part.message.content.flatMap((block) => callChunks(block, kind));
      case 'reply_void':
        return discarded();
    }
  }

  function forget(): void {
    openParts = [];
    openCalls.clear();
  }

  function discarded(): Chunk[] {
    const parts = openParts;
    const calls = [...openCalls];
    forget();
    return [
      ...calls.map(([toolCallId, toolName]) => ({
        type: 'tool-input-error',
        toolCallId,
        toolName,
        input: null,
        errorText: 'The model call that began this failed.',
        ...kind(toolName),
      })),
      { type: 'data-discarded', data: { parts, calls: calls.map(([callId]) => callId) } },
    ];
  }

  function paused(event: EventOf<'run_paused'>): Chunk[] {
    return finish('tool-calls', {
      status: 'paused',
      pending: event.pending.map(({ callId, toolName, approvalId }) => ({
        callId,
        toolName,
        ...(approvalId === undefined ? {} : { approvalId }),
      })),
    });
  }

  function ended(event: EventOf<'run_ended'>): Chunk[] {
    const { status, message, usage, cost, turns } = event;
    const metadata = { status, usage: { ...usage }, cost, turns, ...(message === undefined ? {} : { message }) };
    if (status === 'aborted') {
      const about = { type: 'message-metadata', messageMetadata: metadata };
      return [...closeStep(), about, { type: 'abort', ...(message !== undefined && { reason: message }) }];
    }
    const failure = FAILURES.has(status)
      ? [{ type: 'error', errorText: message ?? `The run ended as ${status}.` }]
      : [];
    return [...failure, ...finish(FINISH_REASONS[status] ?? 'other', metadata)];
  }

  function ofRun(event: TreadleEvent): Chunk[] {
    switch (event.type) {
      case 'turn_started':
        // Another attempt goes on in the step of the first.
        return [...(event.attempt > 1 ? [] : closeStep()), ...openStep()];
      case 'turn_ended':
        return closeStep();
      case 'tool_ended':
        return isShown(event.callId) ? [outputOf(event, kind(event.toolName))] : [];
      case 'tool_call_rejected':
        return isShown(event.callId) ? [rejection(event, kind(event.toolName))] : [];
      case 'approval_requested':
        if (!isShown(event.callId)) return [];
        return [
          {
            type: 'tool-approval-request',
            approvalId: event.approvalId,
            toolCallId: event.callId,
            approvalDescriptor: { question: event.question, arguments: event.arguments },
          },
        ];
      case 'tool_update':
        if (!isShown(event.callId)) return [];
        return [
          {
            type: 'tool-output-available',
            toolCallId: event.callId,
            output: resultText(event.content),
            preliminary: true,
            ...kind(event.toolName),
          },
        ];
      case 'message_added':
        return event.inputSeq !== undefined && event.inputSeq === joinedBy ? openStep() : injected(event);
      case 'run_paused':
        return paused(event);
      case 'run_ended':
        return ended(event);
      default:
        return [];
    }
  }

  const words = {
    // One run is one message, whose id is the run's, but for what it says after another message has joined it.
    begin(runId: string | undefined): Chunk[] {
      const own = joinedBy === null ? runId : `${runId ?? ''}~${joinedBy}`;
      return [{ type: 'start', messageId: messageId ?? own, messageMetadata: { runId } }];
    },
    reply,
    event: ofRun,
    beside(event: TreadleEvent): Chunk[] | undefined {
      const notice = noticeOf(event);
      if (!notice) return undefined;
      const name = notice.name === 'compacted' ? 'compaction' : notice.name;
      return [{ type: `data-${name}`, data: notice.data, transient: true }];
    },
    child: ({ event, callId }: EventOf<'child_event'>) => ofSubAgent(event, callId),
    cut({ reason }: StreamEnd, errorText: string): Chunk[] {
      return [...closeStep(), ...(reason === 'finished' ? [] : [{ type: 'error', errorText }])];
    },
  };
  const encoder = runEncoder<Chunk>(words, (chunk) => ({ data: JSON.stringify(chunk) }));
  return { ...encoder, end: (end) => [...encoder.end(end), DONE] };
}

/** Clients read no chunk after it. */
const DONE: Frame = { data: '[DONE]' };

/** Ends of a run that a client shows as an error. */
const FAILURES: ReadonlySet<string> = new Set(['model_error', 'rejected']);

const FINISH_REASONS: Readonly<Record<string, string>> = {
  completed: 'stop',
  model_error: 'error',
  rejected: 'error',
  length: 'length',
  refused: 'content-filter',
};

const streamOf = (kind: 'text' | 'thinking'): 'text' | 'reasoning' => (kind === 'text' ? 'text' : 'reasoning');

const blockId = ({ messageId, index }: { readonly messageId: string; readonly index: number }): string =>
  `${messageId}:${index}`;

/** The inputs of a finished message's calls. */
function callChunks(block: AssistantContent, kind: (toolName: string) => Kind): Chunk[] {
  if (block.type !== 'tool_call') return [];
  const { callId: toolCallId, name: toolName } = block;
  if (block.problem === undefined)
    return [{ type: 'tool-input-available', toolCallId, toolName, input: block.arguments, ...kind(toolName) }];
  const errorText = block.problemMessage ?? `The arguments can't be used: ${block.problem}.`;
  const input = block.argumentsText ?? block.arguments;
  return [{ type: 'tool-input-error', toolCallId, toolName, input, errorText, ...kind(toolName) }];
}

/** Blocks that come as a whole. What only the provider can read stays on the server. */
function wholeBlock(block: AssistantContent, byProvider: Set<string>): Chunk[] {
  switch (block.type) {
    case 'image':
    case 'file': {
      const url = block.url ?? (block.data === undefined ? undefined : `data:${block.mediaType};base64,${block.data}`);
      return url === undefined ? [] : [{ type: 'file', url, mediaType: block.mediaType }];
    }
    case 'provider_tool_call': {
      byProvider.add(block.callId);
      const { callId: toolCallId, name: toolName, arguments: input } = block;
      return [{ type: 'tool-input-available', toolCallId, toolName, input, providerExecuted: true, dynamic: true }];
    }
    case 'provider_tool_result': {
      const { callId: toolCallId } = block;
      // A result whose call came in an earlier message has no part to go to.
      if (!byProvider.delete(toolCallId)) return [];
      if (block.isError) {
        const errorText = `${block.name} failed.`;
        return [{ type: 'tool-output-error', toolCallId, errorText, providerExecuted: true, dynamic: true }];
      }
      return [{ type: 'tool-output-available', toolCallId, output: block.raw, providerExecuted: true, dynamic: true }];
    }
    default:
      return [];
  }
}

type Kind = { readonly dynamic?: true };

function outputOf({ callId: toolCallId, isError, content, details }: EventOf<'tool_ended'>, kind: Kind): Chunk {
  const text = resultText(content);
  if (isError) return { type: 'tool-output-error', toolCallId, errorText: text, ...kind };
  const output = details === undefined ? text : { text, details };
  return { type: 'tool-output-available', toolCallId, output, ...kind };
}

function rejection({ callId: toolCallId, reason, content }: EventOf<'tool_call_rejected'>, kind: Kind): Chunk {
  if (reason === 'denied') return { type: 'tool-output-denied', toolCallId };
  return { type: 'tool-output-error', toolCallId, errorText: resultText(content), ...kind };
}

/** Messages that reached the model in the middle of a run. The prompt is the client's own. */
function injected({ message }: EventOf<'message_added'>): Chunk[] {
  const said = injectedMessage(message);
  if (!said) return [];
  const { id, origin, content } = said;
  return [{ type: 'data-message', id, data: { origin, text: resultText(content) } }];
}

/** A sub-agent is one part of its parent's message, which is replaced as it goes on. */
function ofSubAgent(event: TreadleEvent, toolCallId: string): Chunk[] {
  if (!('runId' in event) || event.runId === undefined) return [];
  const { runId } = event;
  const part = (data: JsonObject): Chunk[] => [
    { type: 'data-subagent', id: runId, data: { runId, toolCallId, ...data } },
  ];
  switch (event.type) {
    case 'run_started':
      return part({ agentId: event.agentId, state: 'running' });
    case 'tool_started':
      return part({ state: 'running', tool: event.toolName });
    case 'run_paused':
      return part({ state: 'paused' });
    case 'run_ended':
      return part({ state: event.status, ...(event.message === undefined ? {} : { message: event.message }) });
    default:
      return [];
  }
}
