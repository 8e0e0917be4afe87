import type {
  AssistantMessage,
  ModelMessage,
  ModelRequest,
  ProviderToolDefinition,
  ToolDefinition,
} from '@treadle/core';
import {
  anthropicAssistantContent,
  anthropicInterruptedResult,
  anthropicToolResult,
  anthropicUserContent,
} from './anthropic-content.ts';
import type { AnthropicQuirks } from './anthropic-quirks.ts';
import { createBody } from './body.ts';
import { createCallIds } from './call-ids.ts';
import { toJson } from './json-text.ts';
import type { WireRequest, WireTarget } from './protocol.ts';
import { createFragments, createOnce, createTranscripts } from './transcripts.ts';
import type { TranscriptWriter } from './transcripts.ts';

const CALL_ID_RULES = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };

/** Tokens of reasoning per level. The API wants 1,024 at least, so the two lowest levels are the same here. */
const THINKING_BUDGETS = { minimal: 128, low: 512, medium: 2048, high: 8192 };
const SMALLEST_THINKING_BUDGET = 1024;

/** What stands in for the user when a conversation begins with the assistant, which this wire doesn't accept. */
const OPENING = '{"type":"text","text":"(The conversation continues.)"}';

interface AnthropicTranscript extends TranscriptWriter {
  /** Whether the assistant is in the middle of calling tools without the reasoning that led there. */
  readonly callsWithoutThinking: boolean;
}

const writeTools = createOnce((tools: readonly ToolDefinition[]) =>
  tools.map(({ name, description, parameters }) => toJson({ name, description, input_schema: parameters })).join(','),
);

const ownTools = (tools: readonly ProviderToolDefinition[] | undefined, provider: string): string =>
  (tools ?? [])
    .filter((tool) => tool.provider === provider)
    .map((tool) => toJson(tool.definition))
    .join(',');

const createWriter = (provider: string, fragment: ReturnType<typeof createFragments>): AnthropicTranscript => {
  const ids = createCallIds(CALL_ID_RULES);
  let written = '';
  let role: 'user' | 'assistant' | undefined;
  let callsWithoutThinking = false;

  const joined = (before: string, open: typeof role, next: 'user' | 'assistant', content: string): string => {
    if (open === next) return `${before},${content}`;
    return `${open === undefined ? '' : `${before}]},`}{"role":"${next}","content":[${content}`;
  };

  const add = (next: 'user' | 'assistant', content: string): void => {
    if (content === '') return;
    if (role === undefined && next === 'assistant') add('user', OPENING);
    written = joined(written, role, next, content);
    role = next;
  };

  const answerWaiting = (): void => {
    for (const id of ids.waiting()) add('user', anthropicInterruptedResult(id));
    ids.forgetWaiting();
  };

  const addAssistant = (message: AssistantMessage): void => {
    const own = message.provider === provider;
    const wireIds = new Map<string, string>();
    for (const block of message.content) {
      if (block.type === 'tool_call') wireIds.set(block.callId, ids.assign(block, own));
    }
    const key = wireIds.size === 0 ? '' : [...wireIds.values()].join();
    add(
      'assistant',
      fragment(message, key, () => anthropicAssistantContent(message.content, own, wireIds)),
    );
    callsWithoutThinking =
      wireIds.size > 0 &&
      !(
        own &&
        message.content.some(
          (b) => b.type === 'redacted_thinking' || (b.type === 'thinking' && b.signature !== undefined),
        )
      );
  };

  return {
    append(message: ModelMessage) {
      if (message.role === 'tool') {
        const id = ids.take(message.callId);
        if (id !== undefined)
          add(
            'user',
            fragment(message, id, () => anthropicToolResult(message, id, provider)),
          );
        return;
      }
      answerWaiting();
      if (message.role === 'assistant') return addAssistant(message);
      callsWithoutThinking = false;
      add(
        'user',
        fragment(message, '', () => anthropicUserContent(message.content, provider)),
      );
    },
    text() {
      if (role === undefined) return '';
      let complete = written;
      let open: typeof role = role;
      for (const id of ids.waiting()) {
        complete = joined(complete, open, 'user', anthropicInterruptedResult(id));
        open = 'user';
      }
      return `${complete}]}`;
    },
    get callsWithoutThinking() {
      return callsWithoutThinking;
    },
  };
};

const toolChoice = (request: ModelRequest): string | undefined => {
  const choice = request.toolChoice;
  if (choice === undefined || choice === 'auto') return undefined;
  if (choice === 'none') return '{"type":"none"}';
  return choice === 'required' ? '{"type":"any"}' : toJson({ type: 'tool', name: choice.name });
};

/** Reasoning tokens for this request, or 0 where the wire wouldn't take any. */
const thinkingBudget = (request: ModelRequest, transcript: AnthropicTranscript): number => {
  const level = request.thinking ?? 'off';
  if (level === 'off') return 0;
  // A forced tool, and calls whose reasoning this provider didn't make, exclude thinking.
  const forced = request.toolChoice === 'required' || typeof request.toolChoice === 'object';
  if (forced || transcript.callsWithoutThinking) return 0;
  return Math.max(SMALLEST_THINKING_BUDGET, THINKING_BUDGETS[level]);
};

/** Writes requests of the Messages API for one model. */
export function createAnthropicEncoder(
  target: WireTarget,
  quirks: Required<AnthropicQuirks>,
): (request: ModelRequest) => WireRequest {
  const fragment = createFragments();
  const transcripts = createTranscripts(() => createWriter(target.provider, fragment));
  const model = toJson(target.modelId);
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'anthropic-version': quirks.version,
  };
  let lastSystem = '';
  let lastSystemJson: string | undefined;

  const systemJson = (system: string): string | undefined => {
    if (system !== lastSystem) {
      lastSystem = system;
      lastSystemJson = system.trim() === '' ? undefined : `[${toJson({ type: 'text', text: system })}]`;
    }
    return lastSystemJson;
  };

  return (request) => {
    const transcript = transcripts(request.messages);
    const tools = [writeTools(request.tools), ownTools(request.providerTools, target.provider)].filter((t) => t !== '');
    const budget = thinkingBudget(request, transcript);
    const asked = request.maxTokens ?? quirks.maxTokens;
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const body = createBody(request.extraBody);
    body.field('model', model);
    body.field('stream', 'true');
    body.field('system', systemJson(request.system));
    body.field('tools', tools.length === 0 ? undefined : `[${tools.join(',')}]`);
    body.field('messages', `[${transcript.text()}]`);
    body.field('max_tokens', String(asked > budget ? asked : asked + budget));
    body.field('thinking', budget === 0 ? undefined : `{"type":"enabled","budget_tokens":${budget}}`);
    body.field('tool_choice', tools.length === 0 ? undefined : toolChoice(request));
    // With thinking the API takes no temperature but its own.
    if (request.temperature !== undefined && budget === 0) body.field('temperature', String(request.temperature));
    if (request.stopSequences !== undefined && request.stopSequences.length > 0) {
      body.field('stop_sequences', toJson(request.stopSequences));
    }
    if (request.containerId !== undefined) body.field('container', toJson(request.containerId));
    return { path: quirks.path, headers, body: body.end() };
  };
}
