import type { JsonObject, ResponseFormat, UserContent } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { arrayOf, bodyOf, filledJson } from '../shared/body.ts';
import { keyOf } from '../shared/call-ids.ts';
import { createConversations, createElements, type ConversationWriter } from '../shared/conversation.ts';
import { createFragments, createLatest, createOnce } from '../shared/fragments.ts';
import { asObject, toJson } from '../shared/json-text.ts';
import { planThinking } from '../../rules/rules.ts';
import { UNKNOWN_FAMILIES } from '../../rules/servers.ts';
import {
  ollamaAssistantMessage,
  ollamaInterruptedResult,
  ollamaResultImages,
  ollamaToolMessage,
  ollamaUserMessage,
} from './content.ts';
import type { OllamaQuirks } from './quirks.ts';
import type { WireRequest, WireTarget } from '../shared/protocol.ts';

/** Ollama takes any id; this is what other servers of its wire take too. */
const CALL_ID_RULES = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };

const writeTools = createOnce((tools: readonly ToolDefinition[]) =>
  tools
    .map(({ name, description, inputSchema: parameters }) =>
      toJson({ type: 'function', function: { name, description, parameters } }),
    )
    .join(','),
);

/** Writes the elements of `messages`; empty where nothing of a message can be sent. */
const createWriters = (provider: string) => {
  const fragment = createFragments();
  return createConversations(provider, CALL_ID_RULES, () => {
    /** Tool names by wire id: this wire tells results apart by them. */
    const toolNames = new Map<string, string>();
    const elements = createElements();
    let images: UserContent[] = [];

    const writer: ConversationWriter = {
      user: (message) => elements.add(fragment(message, '', () => ollamaUserMessage(message.content))),
      assistant(message, own, wireIds) {
        for (const block of message.content)
          if (block.type === 'tool_call') toolNames.set(wireIds.get(block.callId) ?? '', block.name);
        elements.add(fragment(message, keyOf(wireIds), () => ollamaAssistantMessage(message, own, wireIds)));
      },
      result(message, id) {
        const name = toolNames.get(id) ?? message.toolName;
        elements.add(fragment(message, `${id} ${name}`, () => ollamaToolMessage(message, name, id)));
        images.push(...ollamaResultImages(message));
      },
      // Results of one message's calls must follow it without a gap, so their images wait for the last of them.
      close(unanswered) {
        for (const id of unanswered) elements.add(ollamaInterruptedResult(toolNames.get(id) ?? '', id));
        elements.add(ollamaUserMessage(images));
        toolNames.clear();
        images = [];
      },
    };
    return { ...writer, json: elements.json };
  });
};

const writeFormat = createOnce((format: ResponseFormat) =>
  format.type === 'json_object' ? '"json"' : toJson(format.schema),
);

/** `think` for a request; without a level the model decides. */
const thinkOf = (request: ModelRequest, levels: boolean): string | undefined => {
  const level = request.thinking;
  if (level === undefined) return undefined;
  if (level === 'off') return 'false';
  if (!levels) return 'true';
  const plan = planThinking(UNKNOWN_FAMILIES[0], level, '', () => {});
  return plan.type === 'effort' ? `"${plan.effort}"` : 'true';
};

const optionsOf = (request: ModelRequest, window: number | undefined): JsonObject => ({
  num_ctx: window,
  num_predict: request.maxTokens,
  temperature: request.temperature,
  stop: request.stopSequences?.length ? [...request.stopSequences] : undefined,
});

/** How far an estimate must be above the window to be believed. */
const CERTAINLY = 1.25;

/**
 * Writes requests of Ollama's chat API for one model.
 *
 * @param tooLong Is told the window of requests that look longer than that.
 */
export function createOllamaEncoder(
  target: WireTarget,
  quirks: Required<OllamaQuirks>,
  tooLong: WeakMap<ModelRequest, number>,
): (request: ModelRequest) => WireRequest {
  const conversations = createWriters(target.provider);
  const model = toJson(target.modelId);
  const headers = { 'content-type': 'application/json', accept: 'application/x-ndjson' };
  const levels = quirks.think === 'auto' ? /gpt-?oss/i.test(target.modelId) : quirks.think === 'level';

  const systemJson = createLatest((system) => (system === '' ? '' : toJson({ role: 'system', content: system })));

  return (request) => {
    // The wire has no choice of tools, and wants none declared that were called: a tool is forbidden by leaving it out.
    const tools = request.toolChoice === 'none' ? '' : writeTools(request.tools);
    const { options: ownOptions, ...extra } = request.providerOptions ?? {};
    // The caller's options win one by one, so that one more doesn't cost the others.
    const options = {
      ...optionsOf(request, target.contextWindow?.()),
      ...(asObject(ownOptions) as JsonObject | undefined),
    };
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const fields = {
      model,
      stream: 'true',
      tools: arrayOf([tools]),
      messages: conversations(request.messages).json(systemJson(request.system)),
      format: request.responseFormat && writeFormat(request.responseFormat),
      think: thinkOf(request, levels),
      options: filledJson(options),
    };
    const body = bodyOf(fields, extra);
    const { num_ctx: length } = options;
    // The server cuts off what doesn't fit, and says nothing. Four bytes are a token, more or less.
    const isText = !body.includes('"images":[');
    if (typeof length === 'number' && isText && body.length / 4 > length * CERTAINLY) tooLong.set(request, length);
    return { path: quirks.path, headers, body };
  };
}
