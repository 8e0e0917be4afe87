import { TreadleError, type Model, type ModelMessage, type UserMessage } from '@treadle/core';
import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import { defined } from '@treadle/core/json';
import type { CallForm } from './element.ts';
import { toolNameOf } from './names.ts';
import { toolPrompt, type PromptSections } from './prompt.ts';
import { createRewriter } from './rewrite.ts';
import { promptedStream, type StreamOptions } from './stream.ts';

/** How `promptedTools` teaches a model, and what it makes of its replies. */
export interface PromptedToolsOptions {
  /** The form that is taught. Both are read. Default `json`. */
  readonly form?: CallForm;
  /** `first`: a reply ends with its first call, and what the model wrote behind it is dropped. `several`: each call counts, and text between them is kept where it stands. Default `first`. */
  readonly calls?: 'first' | 'several';
  /** What text outside of calls is. `thinking` suits agents that answer through stop tools. Default `text`. */
  readonly text?: 'text' | 'thinking';
  /** A call that names no server: an error the model is told of, or a call of a local tool. Default `reject`. */
  readonly missingServer?: 'reject' | 'local';
  /** Texts in place of those that come with Treadle. */
  readonly sections?: PromptSections;
}

const CHOICES: readonly (readonly [keyof PromptedToolsOptions, readonly unknown[]])[] = [
  ['form', [undefined, 'json', 'xml']],
  ['calls', [undefined, 'first', 'several']],
  ['text', [undefined, 'text', 'thinking']],
  ['missingServer', [undefined, 'reject', 'local']],
];

/**
 * A model that calls tools by writing `<tool>` elements into its text: for models and servers that know no tool calls.
 * The tools are described in its system prompt; calls are read from the text while it streams; calls and results of the
 * history are sent as text. To the loop it is a model like any other, and its history fits models with tool calls.
 *
 * A call that can't be read is answered with a `tool_call_rejected`, and the model is told how to do better.
 *
 * @throws TreadleError `invalid_definition` for an option that isn't one.
 * @example
 * ```ts
 * import { createSession, defineAgent, defineTool } from '@treadle/core';
 * import { promptedTools } from '@treadle/models';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
 *   execute: ({ a, b }) => String(a + b),
 * });
 * const plain = scriptedModel([
 *   'I add them.\n<tool>{"server_name":"local","tool_name":"add","arguments":{"a":2,"b":3}}</tool>',
 *   'It is 5.',
 * ]);
 * const session = await createSession(defineAgent({ model: promptedTools(plain), tools: [add] }));
 * const { text } = await session.prompt('What is 2 + 3?').result;
 * console.log(text); // It is 5.
 * ```
 */
export function promptedTools(model: Model, options: PromptedToolsOptions = {}): Model {
  for (const [key, allowed] of CHOICES) {
    if (allowed.includes(options[key])) continue;
    const words = allowed.filter((choice) => choice !== undefined).map((choice) => JSON.stringify(choice));
    throw new TreadleError('invalid_definition', `promptedTools: ${key} must be ${words.join(' or ')}.`);
  }
  const { form = 'json', calls = 'first', text = 'text', missingServer = 'reject', sections = {} } = options;
  const rewrite = createRewriter(form);
  const promptOf = systemPrompts((system, tools) =>
    toolPrompt(system, tools, { form, several: calls === 'several', sections }),
  );

  function textRequest({ tools, toolChoice, responseFormat, ...request }: ModelRequest): ModelRequest {
    const messages = rewrite(request.messages, { form, toolNames: tools.map(({ name }) => name) });
    const asked = choiceMessage(toolChoice, request.messages.at(-1));
    return {
      ...request,
      system: tools.length === 0 ? request.system : promptOf(request.system, tools),
      messages: asked ? [...messages, asked] : messages,
      tools: [],
      // A form for the whole reply leaves no room for a call in it.
      ...(responseFormat === undefined || tools.length > 0 ? {} : { responseFormat }),
    };
  }

  return {
    provider: model.provider,
    id: model.id,
    ...defined({ contextWindow: model.contextWindow }),
    ...(model.cost === undefined ? {} : { cost: (usage) => model.cost?.(usage) ?? null }),
    stream(request, signal) {
      const source = model.stream(textRequest(request), signal);
      if (request.tools.length === 0 || request.toolChoice === 'none') return source;
      const schemas = new Map(request.tools.map(({ name, inputSchema: parameters }) => [name, parameters]));
      const streamOptions: StreamOptions = {
        several: calls === 'several',
        asThinking: text === 'thinking',
        missingServer,
        schemaOf: ({ server = missingServer === 'local' ? 'local' : undefined, tool }) =>
          server === undefined || tool === undefined ? undefined : schemas.get(toolNameOf({ server, tool })),
      };
      return { [Symbol.asyncIterator]: () => promptedStream(source, streamOptions) };
    },
  };
}

/** The instructions for the same tools are made once. */
function systemPrompts(
  make: (system: string, tools: readonly ToolDefinition[]) => string,
): (system: string, tools: readonly ToolDefinition[]) => string {
  let last: { readonly system: string; readonly tools: readonly ToolDefinition[]; readonly text: string } | null = null;
  return (system, tools) => {
    if (last?.system !== system || last.tools !== tools) last = { system, tools, text: make(system, tools) };
    return last.text;
  };
}

/** What a tool choice is in words. It comes last, so that what is before it stays as it was. */
function choiceMessage(choice: ModelRequest['toolChoice'], last: ModelMessage | undefined): UserMessage | null {
  if (choice === undefined || choice === 'auto') return null;
  const words =
    choice === 'none'
      ? 'Call no tool in this reply. Answer in words.'
      : choice === 'required'
        ? 'Call a tool in this reply.'
        : `Call the tool ${choice.name} in this reply.`;
  const at = last?.at ?? 0;
  return { role: 'user', id: 'tool_choice', at, origin: 'reminder', content: [{ type: 'text', text: words }] };
}
