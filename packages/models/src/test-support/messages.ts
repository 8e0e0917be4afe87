import { UNKNOWN_USAGE, type ModelRequest } from '@treadle/core/model';
import type {
  AssistantContent,
  AssistantMessage,
  ModelMessage,
  ToolCallBlock,
  ToolResultContent,
  ToolResultMessage,
  UserContent,
  UserMessage,
} from '@treadle/core';
import type { Protocol } from '../protocols/shared/protocol.ts';
import { bodyText } from './body.ts';

let made = 0;

export function user(...content: readonly (string | UserContent)[]): UserMessage {
  return {
    role: 'user',
    id: `msg_${made++}`,
    at: 0,
    origin: 'prompt',
    content: content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
  };
}

export function assistant(content: readonly (string | AssistantContent)[], provider = 'own'): AssistantMessage {
  return {
    role: 'assistant',
    id: `msg_${made++}`,
    at: 0,
    provider,
    model: 'model-1',
    content: content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
    stopReason: 'stop',
    usage: UNKNOWN_USAGE,
    cost: null,
  };
}

export function call(callId: string, fields: Partial<ToolCallBlock> = {}): ToolCallBlock {
  return { type: 'tool_call', callId, name: 'search', arguments: {}, ...fields };
}

export function result(callId: string, ...content: readonly (string | ToolResultContent)[]): ToolResultMessage {
  return {
    role: 'tool',
    id: `msg_${made++}`,
    at: 0,
    callId,
    toolName: 'search',
    content: content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
    isError: false,
  };
}

export function request(messages: readonly ModelMessage[], fields: Partial<ModelRequest> = {}): ModelRequest {
  return { system: '', tools: [], ...fields, messages };
}

/** A body as this protocol writes it for the provider `own`. */
export function bodyOf(protocol: Protocol, input: ModelRequest): unknown {
  return JSON.parse(bodyText(protocol.createEncoder({ provider: 'own', modelId: 'model-1' })(input).body));
}
