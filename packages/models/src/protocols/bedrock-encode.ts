import type {
  AssistantMessage,
  FileBlock,
  JsonObject,
  ModelMessage,
  ModelRequest,
  ToolDefinition,
  ToolResultMessage,
  UserMessage,
} from '@treadle/core';
import {
  bedrockAssistantContent,
  bedrockInterruptedResult,
  bedrockToolName,
  bedrockToolResult,
  bedrockUserContent,
  isDocument,
} from './bedrock-content.ts';
import { bedrockInstructions, bedrockOutputConfig } from './bedrock-format.ts';
import type { BedrockQuirks } from './bedrock-quirks.ts';
import { createDocumentNames } from './bedrock-names.ts';
import { createBody } from './body.ts';
import { createCallIds } from './call-ids.ts';
import { asObject, toJson } from './json-text.ts';
import type { WireRequest, WireTarget } from './protocol.ts';
import { createFragments, createOnce, createTranscripts } from './transcripts.ts';
import type { TranscriptWriter } from './transcripts.ts';

type Role = 'user' | 'assistant';

const CALL_ID_RULES = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };

/** Tokens of reasoning per level for Anthropic's models, which want 1,024 at least. */
const THINKING_BUDGETS = { minimal: 1024, low: 1024, medium: 2048, high: 8192 };

/** What stands in for the user where this wire wants one: a conversation begins and ends with the user. */
const OPENING = '{"text":"(The conversation continues.)"}';
const CLOSING = '{"text":"(Continue.)"}';

/** The wire can't forbid tools that it was told of, and wants to be told of tools that were called. So this asks. */
const NO_TOOLS = '{"text":"(Answer without calling a tool.)"}';

interface BedrockTranscript extends TranscriptWriter {
  /** Whether the assistant is in the middle of calling tools without the reasoning that led there. */
  readonly callsWithoutThinking: boolean;
  /** Names of the tools that were called. */
  readonly called: ReadonlySet<string>;
  /** The elements with one more text of the user's at the end. */
  textWith(note: string): string;
}

const toolSpec = (name: string, description: string, parameters: JsonObject): string =>
  toJson({
    toolSpec: { name, ...(description.trim() === '' ? {} : { description }), inputSchema: { json: parameters } },
  });

const writeTools = createOnce((tools: readonly ToolDefinition[]) =>
  tools.map(({ name, description, parameters }) => toolSpec(name, description, parameters)).join(','),
);

const hasReasoning = (message: AssistantMessage): boolean =>
  message.content.some(
    (block) => block.type === 'redacted_thinking' || (block.type === 'thinking' && block.signature !== undefined),
  );

/** The documents of each message, looked for once. */
const createDocumentLists = (): ((message: UserMessage | ToolResultMessage) => readonly FileBlock[]) => {
  const kept = new WeakMap<ModelMessage, readonly FileBlock[]>();
  return (message) => {
    let documents = kept.get(message);
    if (documents === undefined) {
      documents = message.content.filter((block) => isDocument(block));
      kept.set(message, documents);
    }
    return documents;
  };
};

/** What the writers of one model share. */
interface Shared {
  readonly fragment: ReturnType<typeof createFragments>;
  readonly documentsOf: ReturnType<typeof createDocumentLists>;
}

const createWriter = (provider: string, { fragment, documentsOf }: Shared): BedrockTranscript => {
  const ids = createCallIds(CALL_ID_RULES);
  const names = createDocumentNames();
  const called = new Set<string>();
  let written = '';
  let role: Role | undefined;
  let callsWithoutThinking = false;

  const joined = (before: string, open: Role | undefined, next: Role, content: string): string => {
    if (open === next) return `${before},${content}`;
    return `${open === undefined ? '' : `${before}]},`}{"role":"${next}","content":[${content}`;
  };

  const add = (next: Role, content: string): void => {
    if (content === '') return;
    if (role === undefined && next === 'assistant') add('user', OPENING);
    written = joined(written, role, next, content);
    role = next;
  };

  const answerWaiting = (): void => {
    for (const id of ids.waiting()) add('user', bedrockInterruptedResult(id));
    ids.forgetWaiting();
  };

  const addAssistant = (message: AssistantMessage): void => {
    const own = message.provider === provider;
    const wireIds = new Map<string, string>();
    for (const block of message.content) {
      if (block.type !== 'tool_call') continue;
      wireIds.set(block.callId, ids.assign(block, own));
      called.add(bedrockToolName(block.name));
    }
    const key = wireIds.size === 0 ? '' : [...wireIds.values()].join();
    add(
      'assistant',
      fragment(message, key, () => bedrockAssistantContent(message.content, own, wireIds)),
    );
    callsWithoutThinking = wireIds.size > 0 && !(own && hasReasoning(message));
  };

  /** Content in which documents have names: they are part of what the JSON depends on. */
  const addNamed = (
    message: UserMessage | ToolResultMessage,
    key: string,
    write: (nameDocument: () => string) => string,
  ): void => {
    const given = documentsOf(message).map((file) => names.next(file));
    const json = fragment(message, [key, ...given].join('\n'), () => {
      let at = 0;
      return write(() => given[at++] ?? '');
    });
    add('user', json);
  };

  const complete = (note: string): string => {
    let text = written;
    let open = role;
    const user = (content: string): void => {
      text = joined(text, open, 'user', content);
      open = 'user';
    };
    for (const id of ids.waiting()) user(bedrockInterruptedResult(id));
    if (open === 'assistant') user(note === '' ? CLOSING : note);
    else if (note !== '') user(note);
    return open === undefined ? '' : `${text}]}`;
  };

  return {
    append(message: ModelMessage) {
      if (message.role === 'tool') {
        const id = ids.take(message.callId);
        if (id === undefined) return;
        return addNamed(message, id, (name) => bedrockToolResult(message, id, name));
      }
      answerWaiting();
      if (message.role === 'assistant') return addAssistant(message);
      callsWithoutThinking = false;
      addNamed(message, '', (name) => bedrockUserContent(message.content, name));
    },
    text: () => complete(''),
    textWith: complete,
    called,
    get callsWithoutThinking() {
      return callsWithoutThinking;
    },
  };
};

const reasoningOf = (modelId: string, quirk: Required<BedrockQuirks>['reasoning']): typeof quirk => {
  if (quirk !== 'auto') return quirk;
  if (/anthropic|claude/i.test(modelId)) return 'anthropic';
  if (/amazon\.nova-(?!pro-v1|lite-v1|micro-v1|premier-v1|canvas|reel|sonic)/i.test(modelId)) return 'nova';
  if (/(?:^|[./])openai\./i.test(modelId)) return 'openai';
  return modelId.startsWith('arn:') && !/foundation-model/.test(modelId) ? 'anthropic' : 'none';
};

const NOVA_EFFORTS = { minimal: 'low', low: 'low', medium: 'medium', high: 'high' };

/** What a request asks of reasoning: fields for the model's own vendor, and the tokens it takes from the output. */
interface Reasoning {
  readonly fields: JsonObject;
  readonly budget: number;
}

const NO_REASONING: Reasoning = { fields: {}, budget: 0 };

const reasoning = (
  request: ModelRequest,
  transcript: BedrockTranscript,
  kind: Required<BedrockQuirks>['reasoning'],
): Reasoning => {
  const level = request.thinking ?? 'off';
  if (level === 'off') return NO_REASONING;
  if (kind === 'openai') return { fields: { reasoning_effort: level }, budget: 0 };
  if (kind === 'nova') {
    return { fields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: NOVA_EFFORTS[level] } }, budget: 0 };
  }
  // A forced tool, and calls whose reasoning this provider didn't make, exclude thinking.
  const forced = request.toolChoice === 'required' || typeof request.toolChoice === 'object';
  if (kind !== 'anthropic' || forced || transcript.callsWithoutThinking) return NO_REASONING;
  const budget = THINKING_BUDGETS[level];
  return { fields: { thinking: { type: 'enabled', budget_tokens: budget } }, budget };
};

const toolChoice = (request: ModelRequest): string => {
  const choice = request.toolChoice;
  if (choice === undefined || choice === 'auto' || choice === 'none') return '';
  return `,"toolChoice":${choice === 'required' ? '{"any":{}}' : toJson({ tool: { name: choice.name } })}`;
};

/** Undeclared tools that the conversation has calls of: the wire refuses such a conversation without any tool. */
const formerTools = (transcript: BedrockTranscript): string =>
  [...transcript.called]
    .map((name) => toolSpec(name, 'No longer available.', { type: 'object', properties: {} }))
    .join(',');

const inferenceConfig = (request: ModelRequest, budget: number): JsonObject => {
  const { maxTokens, temperature, stopSequences = [] } = request;
  return {
    ...(maxTokens === undefined ? {} : { maxTokens: maxTokens > budget ? maxTokens : maxTokens + budget }),
    // With thinking the models take no temperature but their own.
    ...(temperature === undefined || budget > 0 ? {} : { temperature }),
    ...(stopSequences.length === 0 ? {} : { stopSequences: [...stopSequences] }),
  };
};

/** The caller's fields over ours: they win one by one, so that one more doesn't cost the others. */
const merged = (own: JsonObject, extra: unknown): string | undefined => {
  const all = { ...own, ...asObject(extra) };
  return Object.keys(all).length === 0 ? undefined : toJson(all);
};

/** Writes requests of ConverseStream for one model. */
export function createBedrockEncoder(
  target: WireTarget,
  quirks: Required<BedrockQuirks>,
): (request: ModelRequest) => WireRequest {
  const shared: Shared = { fragment: createFragments(), documentsOf: createDocumentLists() };
  const transcripts = createTranscripts(() => createWriter(target.provider, shared));
  const path = `/model/${encodeURIComponent(target.modelId)}/converse-stream`;
  const headers = { 'content-type': 'application/json', accept: 'application/vnd.amazon.eventstream' };
  const kind = reasoningOf(target.modelId, quirks.reasoning);
  let lastSystem = '';
  let lastSystemJson: string | undefined;

  const systemJson = (system: string): string | undefined => {
    if (system !== lastSystem) {
      lastSystem = system;
      lastSystemJson = system.trim() === '' ? undefined : `[${toJson({ text: system })}]`;
    }
    return lastSystemJson;
  };

  const declaredTools = (request: ModelRequest): string => {
    const own = (request.providerTools ?? []).filter((tool) => tool.provider === target.provider);
    return [writeTools(request.tools), ...own.map((tool) => toJson(tool.definition))]
      .filter((json) => json !== '')
      .join(',');
  };

  return (request) => {
    const transcript = transcripts(request.messages);
    const { fields, budget } = reasoning(request, transcript, kind);
    const declared = declaredTools(request);
    const forbidden = declared === '' || request.toolChoice === 'none';
    // Where no tool was called yet, leaving them all out forbids them best.
    const tools = forbidden && transcript.called.size === 0 ? '' : declared || formerTools(transcript);
    const messages = forbidden && tools !== '' ? transcript.textWith(NO_TOOLS) : transcript.text();
    const output = bedrockOutputConfig(request, quirks.responseFormat);
    const { inferenceConfig: ownInference, additionalModelRequestFields, ...extra } = request.extraBody ?? {};
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const body = createBody(extra);
    body.field('system', systemJson(bedrockInstructions(request, quirks.responseFormat)));
    body.field('toolConfig', tools === '' ? undefined : `{"tools":[${tools}]${toolChoice(request)}}`);
    body.field('messages', `[${messages}]`);
    body.field('inferenceConfig', merged(inferenceConfig(request, budget), ownInference));
    body.field('outputConfig', output === undefined ? undefined : toJson(output));
    body.field('additionalModelRequestFields', merged(fields, additionalModelRequestFields));
    return { path, headers, body: body.end() };
  };
}
