import { TreadleError, type ResponseFormat, type UserContent } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { arrayOf, bodyOf, filledJson, jsonOf } from '../shared/body.ts';
import { keyOf } from '../shared/call-ids.ts';
import { createConversations, createElements, type ConversationWriter } from '../shared/conversation.ts';
import { createFragments, createLatest, createOnce } from '../shared/fragments.ts';
import { asObject, toJson } from '../shared/json-text.ts';
import { cacheMarks } from '../shared/turns.ts';
import { parseJson } from '@treadle/core/json';
import { promptCacheKey } from '../openai/cache-key.ts';
import {
  chatAssistantMessage,
  chatInterruptedResult,
  chatToolMessage,
  chatUserMessage,
  toolResultAttachments,
} from './content.ts';
import { chatResponseFormat, instructionsWithFormat } from './format.ts';
import type { OpenAIChatQuirks } from './quirks.ts';
import {
  createWarnings,
  familyOf,
  isThinking,
  planThinking,
  takenTemperature,
  type ModelFamily,
  type ThinkingPlan,
} from '../../rules/rules.ts';
import { strictSchema } from '../openai/strict.ts';
import type { WireRequest, WireTarget } from '../shared/protocol.ts';

/** The longest id of a tool call the API takes. */
const CALL_ID_LENGTH = 40;

const toolJson = ({ name, description, inputSchema: parameters }: ToolDefinition, strictTools: boolean): string => {
  if (!strictTools) return toJson({ type: 'function', function: { name, description, parameters } });
  const strict = strictSchema(parameters);
  const declared = { name, description, parameters: strict ?? parameters, strict: strict !== undefined };
  return toJson({ type: 'function', function: declared });
};

/** Writes the elements of `messages`; empty where nothing of a message can be sent. */
const createWriters = (provider: string, quirks: Required<OpenAIChatQuirks>) => {
  const fragment = createFragments();
  const rules = { pattern: quirks.toolCallIdPattern, maxLength: CALL_ID_LENGTH };
  return createConversations(provider, rules, () => {
    const elements = createElements();
    let attachments: UserContent[] = [];

    const writer: ConversationWriter = {
      user: (message) => elements.add(fragment(message, '', () => chatUserMessage(message.content, provider, quirks))),
      assistant: (message, own, wireIds) =>
        elements.add(fragment(message, keyOf(wireIds), () => chatAssistantMessage(message, own, wireIds, quirks))),
      result(message, id) {
        elements.add(fragment(message, id, () => chatToolMessage(message, id)));
        attachments.push(...toolResultAttachments(message));
      },
      // Results of one message's calls must follow it without a gap, so what they attach waits for the last of them.
      close(unanswered) {
        elements.add(...unanswered.map(chatInterruptedResult), chatUserMessage(attachments, provider, quirks));
        attachments = [];
      },
    };
    return { ...writer, json: elements.json };
  });
};

const toolChoice = (request: ModelRequest, quirks: Required<OpenAIChatQuirks>): string | undefined => {
  const choice = request.toolChoice;
  if (choice === undefined || choice === 'auto') return undefined;
  const known = quirks.toolChoices;
  if (choice === 'none') return known.includes('none') ? '"none"' : undefined;
  if (choice === 'required') return known.includes('required') ? `"${quirks.requiredToolChoice}"` : undefined;
  return known.includes('named') ? toJson({ type: 'function', function: { name: choice.name } }) : undefined;
};

const EPHEMERAL = '{"type":"ephemeral"}';

/** JSON of one or more objects whose last one asks the service to keep what comes before its end. */
const marked = (json: string): string => (json === '' ? '' : `${json.slice(0, -1)},"cache_control":${EPHEMERAL}}`);

/** A message whose last part asks the service to keep what comes before its end. Words of the model carry no mark. */
const markedMessage = (json: string): string => {
  const message = asObject(parseJson(json || 'null'));
  if (message === undefined || message['role'] === 'assistant') return json;
  const { content } = message;
  const parts: unknown[] = Array.isArray(content) ? content : [{ type: 'text', text: content }];
  const rest = parts.slice(0, -1).map((part) => toJson(part));
  const list = [...rest, marked(toJson(parts.at(-1)))].join(',');
  const { content: _parts, ...fields } = message;
  return `${toJson(fields).slice(0, -1)},"content":[${list}]}`;
};

/** What a request says about thinking, in the server's words. */
const thinkingFields = (
  { thinking }: ModelRequest,
  plan: ThinkingPlan,
  family: ModelFamily,
  quirks: Required<OpenAIChatQuirks>,
): Record<string, string> => {
  if (thinking === undefined) return {};
  const on = plan.type !== 'off' && thinking !== 'off';
  const effort = plan.type === 'effort' ? plan.effort : undefined;
  const thinkingSwitch = family.thinkingSwitch ?? quirks.thinkingSwitch;
  if (thinkingSwitch === 'reasoning') {
    if (typeof thinking === 'object') return { reasoning: `{"max_tokens":${thinking.budgetTokens}}` };
    return { reasoning: `{"effort":"${effort ?? 'none'}"}` };
  }
  return {
    ...(thinkingSwitch === 'thinking' && { thinking: `{"type":"${on ? 'enabled' : 'disabled'}"}` }),
    ...(thinkingSwitch === 'enable_thinking' && { enable_thinking: String(on) }),
    ...(effort !== undefined && { reasoning_effort: `"${effort}"` }),
    ...(plan.type === 'off' && family.off === 'none' && { reasoning_effort: '"none"' }),
  };
};

/** Chat Completions refuses tools of some of OpenAI's models, or beside their reasoning. */
const refuseTools = ({ chatTools }: ModelFamily, plan: ThinkingPlan, { provider, modelId }: WireTarget): void => {
  if (chatTools === 'always' || (chatTools === 'unless_asked' && plan.type === 'unsaid')) return;
  if (chatTools !== 'never' && plan.type === 'off') return;
  const name = `${provider.replace(/-chat$/, '')}/${modelId}`;
  const [when, or] = chatTools === 'never' ? ['', ''] : [' while it thinks', ", or set `thinking: 'off'`"];
  throw new TreadleError(
    'invalid_definition',
    `Chat Completions takes no tools of ${modelId}${when}. Use \`${name}\`, which speaks the Responses API${or}.`,
  );
};

/** Leaving the tools out would make an agent that can do nothing and says that it did. */
const noTools = (provider: string, tools: readonly ToolDefinition[]): TreadleError => {
  const names = tools.slice(0, 5).map(({ name }) => name);
  const which = names.length === 0 ? '' : ` (${names.join(', ')}${tools.length > names.length ? ', …' : ''})`;
  return new TreadleError(
    'invalid_definition',
    `${provider} has no tools, and this request has some${which}. Use an agent without tools, or a model of another provider.`,
  );
};

/** Writes requests of Chat Completions for one model. */
export function createOpenAIChatEncoder(
  target: WireTarget,
  quirks: Required<OpenAIChatQuirks>,
): (request: ModelRequest) => WireRequest {
  const conversations = createWriters(target.provider, quirks);
  const { modelId } = target;
  const family = familyOf(quirks.families, modelId, quirks.family);
  const cacheBy = quirks.cacheControl.find(({ match }) => match.test(modelId))?.by;
  const model = toJson(modelId);
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const writeTools = createOnce((tools: readonly ToolDefinition[]) =>
    tools.map((tool) => toolJson(tool, quirks.strictTools)).join(','),
  );
  const formatJson = createOnce((format: ResponseFormat) => chatResponseFormat(format, quirks.responseFormat));

  const systemJson = createLatest((system) =>
    system === '' ? '' : toJson({ role: quirks.systemRole, content: system }),
  );

  const toolsOf = (request: ModelRequest): string => {
    if (request.toolChoice === 'none' && !(quirks.tools && quirks.toolChoices.includes('none'))) return '';
    if (request.providerTools === undefined && quirks.tools) return writeTools(request.tools);
    const own = (request.providerTools ?? []).filter((tool) => tool.provider === target.provider);
    if (!quirks.tools && request.tools.length + own.length > 0) throw noTools(target.provider, request.tools);
    return [writeTools(request.tools), ...own.map((tool) => toJson(tool.definition))].filter(Boolean).join(',');
  };

  return (request) => {
    const { warn, list: warnings } = createWarnings();
    const plan = planThinking(family, request.thinking, modelId, warn);
    const tools = toolsOf(request);
    if (tools !== '') refuseTools(family, plan, target);
    const system = systemJson(instructionsWithFormat(request, quirks.responseFormat));
    const marks = cacheMarks(cacheBy === 'parts' ? request.cache : 'off');
    // What stays the same comes first and what a turn may change comes last, so that consecutive bodies share a prefix.
    const fields = {
      model,
      stream: 'true',
      prompt_cache_key: quirks.promptCacheKey ? jsonOf(promptCacheKey(request)) : undefined,
      stream_options: quirks.streamUsage ? '{"include_usage":true}' : undefined,
      tools: arrayOf([marks.tools ? marked(tools) : tools]),
      messages: conversations(request.messages).json(
        marks.system ? markedMessage(system) : system,
        marks.messages === 'none' ? undefined : markedMessage,
      ),
      [quirks.maxTokensField]: jsonOf(request.maxTokens),
      tool_choice: tools === '' ? undefined : toolChoice(request, quirks),
      ...thinkingFields(request, plan, family, quirks),
      response_format: request.responseFormat && formatJson(request.responseFormat),
      temperature: jsonOf(takenTemperature(family, request, isThinking(family, plan), modelId, warn)),
      stop: filledJson(request.stopSequences),
      cache_control: cacheBy === 'request' && request.cache !== 'off' ? EPHEMERAL : undefined,
    };
    const extra = { ...quirks.extraFields, ...request.providerOptions };
    return { path: quirks.path, headers, body: bodyOf(fields, extra), warnings };
  };
}
