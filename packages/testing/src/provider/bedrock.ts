import type { JsonObject, Usage } from '@treadle/core';
import type { ModelBlock, ModelEvent } from '@treadle/core/model';
import { usageOf } from '../turns.ts';
import { eventStreamMessage } from './event-stream.ts';
import { validateBedrockRequest } from './validate/bedrock.ts';
import { eventsOf, inputOf, only, stopWord, type ReplyContext, type StopWords, type Wire } from './wire.ts';

const STOP: StopWords = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_use: 'tool_use',
  pause: 'end_turn',
  refusal: 'content_filtered',
  content_filter: 'guardrail_intervened',
  other: 'other',
};

const EXCEPTIONS: Readonly<Record<number, string>> = {
  400: 'validationException',
  408: 'modelTimeoutException',
  424: 'modelStreamErrorException',
  429: 'throttlingException',
  503: 'serviceUnavailableException',
};

const event = (type: string, data: JsonObject): Uint8Array =>
  eventStreamMessage(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    // The service pads its events so that their lengths tell nothing.
    JSON.stringify({ ...data, p: 'abcdefghijklmnopqrstuvwxyz'.slice(0, JSON.stringify(data).length % 26) }),
  );

function usageFields(usage: Usage): JsonObject {
  const input = usage.input ?? 0;
  const output = usage.output ?? 0;
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0),
    ...(usage.cacheRead !== null && { cacheReadInputTokens: usage.cacheRead }),
    ...(usage.cacheWrite !== null && { cacheWriteInputTokens: usage.cacheWrite }),
  };
}

const signatureOf = (block: { readonly signature?: string }, number: number, index: number): string =>
  block.signature ?? Buffer.from(`signature-${number}-${index}`).toString('base64');

/** A finished block as the service writes it in a message. */
function wireBlock(block: ModelBlock, number: number, index: number): JsonObject {
  switch (block.type) {
    case 'text':
      return { text: block.text };
    case 'thinking':
      return {
        reasoningContent: { reasoningText: { text: block.text, signature: signatureOf(block, number, index) } },
      };
    case 'redacted_thinking':
      return { reasoningContent: { redactedContent: block.data } };
    case 'tool_call':
      return { toolUse: { toolUseId: block.providerCallId, name: block.name, input: inputOf(block) } };
    default:
      throw new Error(`A reply on this wire has no ${block.type} blocks.`);
  }
}

function encoder(context: ReplyContext): (event: ModelEvent) => Uint8Array {
  const usage = usageOf(context.turn);
  const delta = (index: number, value: JsonObject): Uint8Array =>
    event('contentBlockDelta', { contentBlockIndex: index, delta: value });
  const stop = (index: number): Uint8Array => event('contentBlockStop', { contentBlockIndex: index });

  const ended = (index: number, block: ModelBlock): Uint8Array => {
    if (block.type === 'thinking') {
      const signature = signatureOf(block, context.number, index);
      return Buffer.concat([delta(index, { reasoningContent: { signature } }), stop(index)]);
    }
    if (block.type !== 'redacted_thinking') return stop(index);
    return Buffer.concat([delta(index, { reasoningContent: { redactedContent: block.data } }), stop(index)]);
  };

  return (made) => {
    switch (made.type) {
      case 'start':
        return event('messageStart', { role: 'assistant' });
      case 'text_delta':
        return delta(made.index, { text: made.text });
      case 'thinking_delta':
        return delta(made.index, { reasoningContent: { text: made.text } });
      case 'tool_call_start': {
        const toolUse = { toolUseId: made.providerCallId, name: made.name };
        return event('contentBlockStart', { contentBlockIndex: made.index, start: { toolUse } });
      }
      case 'tool_arguments_delta':
        return delta(made.index, { toolUse: { input: made.text } });
      case 'block_end':
        return ended(made.index, made.block);
      case 'finish':
        return Buffer.concat([
          event('messageStop', { stopReason: stopWord(context.turn, STOP) }),
          ...(usage ? [event('metadata', { usage: usageFields(usage), metrics: { latencyMs: 1 } })] : []),
        ]);
      case 'error': {
        const { error } = made;
        const type = error.code ?? EXCEPTIONS[error.status ?? 500] ?? 'internalServerException';
        return eventStreamMessage(
          { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
          JSON.stringify({ message: error.message }),
        );
      }
    }
  };
}

function whole(context: ReplyContext): JsonObject {
  const usage = usageOf(context.turn);
  const content = eventsOf(context).flatMap((made) =>
    made.type === 'block_end' ? [wireBlock(made.block, context.number, made.index)] : [],
  );
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: stopWord(context.turn, STOP),
    ...(usage && { usage: usageFields(usage) }),
    metrics: { latencyMs: 1 },
  };
}

const PATH = /^\/model\/([^/]+)\/converse(?:-stream)?$/;

/** Amazon Bedrock's Converse and ConverseStream, the latter in AWS's binary event stream. */
export const bedrockWire: Wire = {
  name: 'bedrock-converse',
  path: '/model/{modelId}/converse-stream',
  otherPaths: PATH,
  requestIdHeader: 'x-amzn-requestid',
  contentType: 'application/vnd.amazon.eventstream',
  modelOf: (path) => decodeURIComponent(PATH.exec(path)?.[1] ?? ''),
  asksForStream: (path) => path.endsWith('/converse-stream'),
  checkHeaders: (headers) => (headers['authorization'] ? [] : ['Missing Authentication Token']),
  checkBody: validateBedrockRequest,
  unspeakable: only('text', 'thinking', 'redacted_thinking', 'tool_call'),
  encoder,
  whole,
  errorBody: (_status, message) => ({ message }),
  overflow: { message: 'Input is too long for requested model.' },
};
