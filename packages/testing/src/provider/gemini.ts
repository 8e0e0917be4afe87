import type { JsonObject, Usage } from '@treadle/core';
import type { ModelBlock, ModelEvent } from '@treadle/core/model';
import { isJsonObject } from '@treadle/core/json';
import { type Turn, blocksOf, usageOf } from '../turns.ts';
import { validateGeminiRequest } from './validate/gemini.ts';
import { bearerOf, eventsOf, inputOf, stopWord, type ReplyContext, type StopWords, type Wire } from './wire.ts';

const FINISH: StopWords = {
  stop: 'STOP',
  tool_use: 'STOP',
  length: 'MAX_TOKENS',
  refusal: 'PROHIBITED_CONTENT',
  content_filter: 'SAFETY',
  pause: 'OTHER',
  other: 'OTHER',
};

const STATUS_WORDS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

const PATHS =
  /^\/v1(?:beta\d*)?\/(?:projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/)?models\/([^/:]+):(streamGenerateContent|generateContent)$/;

/** Counts as the service has them: none that is zero, the prompt with what was cached, the answer without its thoughts. */
function usageFields(usage: Usage): JsonObject {
  const prompt = (usage.input ?? 0) + (usage.cacheRead ?? 0);
  const thoughts = usage.reasoning ?? 0;
  const output = usage.output ?? 0;
  const counts = {
    promptTokenCount: prompt,
    cachedContentTokenCount: usage.cacheRead ?? 0,
    candidatesTokenCount: Math.max(0, output - thoughts),
    thoughtsTokenCount: thoughts,
    totalTokenCount: prompt + output,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function response(context: ReplyContext, candidate: JsonObject | undefined): JsonObject {
  return {
    ...(candidate && { candidates: [{ ...candidate, index: 0 }] }),
    modelVersion: context.model,
    responseId: `response-fake${context.number}`,
  };
}

const signed = (part: JsonObject, signature: unknown): JsonObject =>
  typeof signature === 'string' ? { ...part, thoughtSignature: signature } : part;

/** Makes the parts of one reply. Only its first call is signed, as the service does it. */
function createParts(context: ReplyContext): (event: ModelEvent) => JsonObject[] {
  let calls = 0;

  const endOf = (block: ModelBlock, index: number): JsonObject[] => {
    switch (block.type) {
      case 'text':
        return block.opaque ? [signed({ text: '' }, block.opaque['thoughtSignature'])] : [];
      case 'thinking':
        return block.signature === undefined ? [] : [signed({ text: '', thought: true }, block.signature)];
      case 'tool_call': {
        const id = block.providerCallId === '' ? {} : { id: block.providerCallId };
        const first = calls++ === 0 ? `signature-${context.number}-${index}` : undefined;
        return [
          signed(
            { functionCall: { ...id, name: block.name, args: inputOf(block) } },
            block.opaque?.['thoughtSignature'] ?? first,
          ),
        ];
      }
      case 'provider_tool_call':
      case 'provider_tool_result':
      case 'provider_block':
        return [block.raw];
      default:
        throw new Error(`A reply on this wire has no ${block.type} blocks.`);
    }
  };

  return (event) => {
    if (event.type === 'text_delta') return [{ text: event.text }];
    if (event.type === 'thinking_delta') return [{ text: event.text, thought: true }];
    return event.type === 'block_end' ? endOf(event.block, event.index) : [];
  };
}

function errorObject(status: number, message: string, code: string | undefined): JsonObject {
  return { error: { code: status, message, status: code ?? STATUS_WORDS[status] ?? 'UNKNOWN' } };
}

const frame = (data: JsonObject): string => `data: ${JSON.stringify(data)}\r\n\r\n`;

function encoder(context: ReplyContext): (event: ModelEvent) => string {
  const partsOf = createParts(context);
  const usage = usageOf(context.turn);
  const usageMetadata = usage ? { usageMetadata: usageFields(usage) } : {};
  return (event) => {
    if (event.type === 'error')
      return frame(errorObject(event.error.status ?? 500, event.error.message, event.error.code));
    if (event.type === 'finish') {
      const candidate = {
        content: { parts: [{ text: '' }], role: 'model' },
        finishReason: stopWord(context.turn, FINISH),
      };
      return frame({ ...response(context, candidate), ...usageMetadata });
    }
    return partsOf(event)
      .map((part) => frame(response(context, { content: { parts: [part], role: 'model' } })))
      .join('');
  };
}

function whole(context: ReplyContext): JsonObject {
  const partsOf = createParts(context);
  const usage = usageOf(context.turn);
  const parts = eventsOf(context).flatMap(partsOf);
  return {
    ...response(context, { content: { parts, role: 'model' }, finishReason: stopWord(context.turn, FINISH) }),
    ...(usage && { usageMetadata: usageFields(usage) }),
  };
}

const isObjectText = (text: string): boolean => {
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
};

function unspeakable(turn: Turn): string | undefined {
  for (const block of blocksOf(turn)) {
    if (block.type === 'redacted_thinking') return 'This wire has no redacted thinking.';
    if (block.type !== 'tool_call' || block.argumentsText === undefined || block.argumentsText === '') continue;
    if (!isObjectText(block.argumentsText)) return 'On this wire the arguments of a call are always a JSON object.';
  }
  return undefined;
}

/** The Gemini API, also at the addresses of Vertex AI. */
export const geminiWire: Wire = {
  name: 'gemini',
  path: '/v1beta/models/gemini:streamGenerateContent',
  otherPaths: PATHS,
  modelOf: (path) => decodeURIComponent(PATHS.exec(path)?.[1] ?? 'unknown'),
  asksForStream: (path) => PATHS.exec(path)?.[2] === 'streamGenerateContent',
  requestIdHeader: 'x-request-id',
  checkBody: validateGeminiRequest,
  apiKey: (headers) => headers['x-goog-api-key'] ?? bearerOf(headers),
  unspeakable,
  encoder,
  whole,
  errorBody: (status, message, code) => errorObject(status, message, code),
  overflow: {
    message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    code: 'INVALID_ARGUMENT',
  },
};
