import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { ProviderRequest } from '@treadle/testing';
import { bindingProblem } from './binding.ts';
import type { Refusal, ServiceModel } from './models.ts';

const objectAt = (value: JsonValue | undefined, ...path: readonly string[]): JsonObject =>
  path.reduce<JsonObject>(
    (object, key) => {
      const found = object[key];
      return isJsonObject(found) ? found : {};
    },
    isJsonObject(value) ? value : {},
  );

const listAt = (value: JsonValue | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((item): item is JsonObject => isJsonObject(item)) : [];

/** What a request asks of a model, whatever its wire. */
export interface Asked {
  readonly thinking: { readonly effort?: string; readonly budget?: number; readonly off?: string | 0 };
  readonly temperature: JsonValue | undefined;
  readonly forced: boolean;
  readonly tools: boolean;
  readonly format: boolean;
  /** A summary of the thinking. */
  readonly summary: boolean;
}

/** Reads a request of any wire. */
export function askedBy(request: Pick<ProviderRequest, 'wire' | 'body'>): Asked {
  const all = objectAt(request.body);
  const { display } = objectAt(all['thinking'] ?? objectAt(all['additionalModelRequestFields'])['thinking']);
  return { ...fieldsAsked(request), summary: display === 'summarized' };
}

function fieldsAsked({ wire, body }: Pick<ProviderRequest, 'wire' | 'body'>): Omit<Asked, 'summary'> {
  const all = objectAt(body);
  const tools = listAt(all['tools']).length > 0;
  switch (wire) {
    case 'anthropic-messages':
      return { ...claudeAsked(all), temperature: all['temperature'], tools, ...anthropicForms(all) };
    case 'bedrock-converse': {
      const extra = objectAt(all['additionalModelRequestFields']);
      const config = objectAt(all['toolConfig']);
      const forced = ['any', 'tool'].some((key) => objectAt(config['toolChoice'])[key] !== undefined);
      const temperature = objectAt(all['inferenceConfig'])['temperature'];
      return { ...claudeAsked(extra), temperature, forced, tools: config['tools'] !== undefined, format: false };
    }
    case 'gemini': {
      const config = objectAt(all['generationConfig']);
      const { thinkingLevel, thinkingBudget } = objectAt(config['thinkingConfig']);
      const forced = objectAt(all['toolConfig'], 'functionCallingConfig')['mode'] === 'ANY';
      const thinking =
        thinkingBudget === 0
          ? { off: 0 as const }
          : {
              ...(typeof thinkingLevel === 'string' && { effort: thinkingLevel }),
              ...(typeof thinkingBudget === 'number' && { budget: thinkingBudget }),
            };
      return {
        thinking,
        temperature: config['temperature'],
        forced,
        tools,
        format: config['responseMimeType'] !== undefined,
      };
    }
    default: {
      const effort = all['reasoning_effort'] ?? objectAt(all['reasoning'])['effort'];
      const switched = objectAt(all['thinking'])['type'] ?? all['enable_thinking'];
      const off = switched === 'disabled' || switched === false ? 'disabled' : effort === 'none' ? 'none' : undefined;
      const choice = all['tool_choice'];
      return {
        thinking: off === undefined ? (typeof effort === 'string' ? { effort } : {}) : { off },
        temperature: all['temperature'],
        forced: choice === 'required' || choice === 'any' || isJsonObject(choice),
        tools,
        format: all['response_format'] !== undefined || objectAt(all['text'])['format'] !== undefined,
      };
    }
  }
}

const anthropicForms = (all: JsonObject): Pick<Asked, 'forced' | 'format'> => ({
  forced: ['any', 'tool'].some((type) => objectAt(all['tool_choice'])['type'] === type),
  format: objectAt(all['output_config'])['format'] !== undefined,
});

/** Claude's own fields, which Bedrock passes on. */
function claudeAsked(all: JsonObject): Pick<Asked, 'thinking'> {
  const { type, budget_tokens: budget } = objectAt(all['thinking']);
  const effort = objectAt(all['output_config'])['effort'] ?? all['reasoning_effort'];
  if (type === 'disabled' || type === 'between_tools') return { thinking: { off: type } };
  if (typeof budget === 'number') return { thinking: { budget } };
  return { thinking: typeof effort === 'string' ? { effort } : type === 'adaptive' ? { effort: 'adaptive' } : {} };
}

const isThinking = ({ thinking }: Asked, { thinks }: ServiceModel): boolean =>
  thinking.off === undefined && (thinks || thinking.effort !== undefined || thinking.budget !== undefined);

/** Why the service refuses a field; undefined where it takes it. */
const CHECKS: Readonly<
  Record<Refusal, (asked: Asked, model: ServiceModel, request: ProviderRequest) => string | undefined>
> = {
  temperature: ({ temperature }) =>
    temperature === undefined ? undefined : '`temperature` is not supported for this model.',
  temperature_thinking: (asked, model) =>
    asked.temperature !== undefined && isThinking(asked, model)
      ? '`temperature` may not be set while thinking.'
      : undefined,
  forced_tool: ({ forced }) =>
    forced ? 'tool_choice: type "tool" and "any" are not supported for this model.' : undefined,
  forced_tool_thinking: (asked, model) =>
    asked.forced && isThinking(asked, model)
      ? 'Thinking may not be enabled when tool_choice forces tool use.'
      : undefined,
  prefill: (_asked, _model, { body }) =>
    listAt(objectAt(body)['messages']).at(-1)?.['role'] === 'assistant'
      ? 'This model does not support assistant message prefill.'
      : undefined,
  format: ({ format }) => (format ? 'output_config.format is not supported for this model.' : undefined),
  format_with_tools: ({ format, tools }) =>
    format && tools ? "Function calling with a response mime type: 'application/json' is unsupported" : undefined,
  encrypted_reasoning: (_asked, _model, { body }) =>
    objectAt(body)['include'] === undefined ? undefined : 'Encrypted content is not supported with this model.',
  chat_tools: ({ tools }, _model, { wire }) =>
    tools && wire === 'openai-chat'
      ? 'Function tools are not supported in /v1/chat/completions. Use /v1/responses.'
      : undefined,
  chat_tools_thinking: (asked, model, { wire }) =>
    asked.tools && wire === 'openai-chat' && isThinking(asked, model)
      ? "Function tools with reasoning_effort are not supported. Use /v1/responses or set reasoning_effort to 'none'."
      : undefined,
  chat_tools_effort: ({ tools, thinking }, _model, { wire }) =>
    tools && wire === 'openai-chat' && thinking.effort !== undefined
      ? 'Function tools with reasoning_effort are not supported in /v1/chat/completions.'
      : undefined,
  unsigned_call(_asked, _model, { body }) {
    const parts = listAt(objectAt(body)['contents']).flatMap((turn) => {
      const calls = listAt(turn['parts']).filter((part) => part['functionCall'] !== undefined);
      return calls.slice(0, 1);
    });
    return parts.every((part) => part['thoughtSignature'] !== undefined)
      ? undefined
      : 'Function call is missing a `thought_signature`.';
  },
};

function thinkingProblem({ thinking }: Asked, model: ServiceModel, { wire }: ProviderRequest): string | undefined {
  const { effort, budget, off } = thinking;
  // The field `reasoning` itself belongs to models that reason.
  if (off !== undefined && off !== model.off) return `"${off}" is not supported for this model.`;
  if (effort === 'adaptive') return model.efforts.length > 0 ? undefined : 'adaptive thinking is not supported.';
  if (effort !== undefined && !model.efforts.includes(effort)) {
    return `Unsupported value: '${effort}'. Supported values are: ${model.efforts.join(', ')}.`;
  }
  if (budget === undefined) return undefined;
  if (model.budget === undefined) return `"thinking.type.enabled" is not supported for this model on ${wire ?? ''}.`;
  return budget < model.budget[0] || budget > model.budget[1] ? 'The thinking budget is out of range.' : undefined;
}

/** Why the service refuses a request for this model; undefined where it takes it. */
export function refusalOf(request: ProviderRequest, model: ServiceModel): string | undefined {
  const asked = askedBy(request);
  for (const refusal of model.refuses) {
    const problem = CHECKS[refusal](asked, model, request);
    if (problem !== undefined) return problem;
  }
  return thinkingProblem(asked, model, request) ?? (model.bound ? bindingProblem(request) : undefined);
}
