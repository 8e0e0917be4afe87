// Prints the address of a server with what the conformance suite calls by name: an agent's tools, resources and prompts.
import { defineAgent, defineTool, type JsonObject, type ToolContext, type ToolResult } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

import { mcpServer, serveMcp } from '../index.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = Buffer.concat([Buffer.from('RIFF$\0\0\0WAVEfmt '), Buffer.alloc(28)]).toString('base64');
const image = { type: 'image', mediaType: 'image/png', data: PNG } as const;
const fileOf = (name: string, mediaType: string, text: string) =>
  ({ type: 'file', name, mediaType, data: Buffer.from(text).toString('base64') }) as const;

/** A tool without arguments that anyone may call. */
const tool = (name: string, execute: (context: ToolContext) => string | ToolResult) =>
  defineTool({ name, description: `${name} of the suite.`, readOnly: true, execute: (_, context) => execute(context) });

const object = (properties: JsonObject, required = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
});
const TEXT = { type: 'string' };

/** Asks the client's user, question after question, and then says what was answered. */
const asking = (name: string, questions: readonly (readonly [string, JsonObject])[], result: string) =>
  tool(name, ({ answers = [] }) => {
    const [question, requestedSchema] = questions[answers.length] ?? [];
    if (question === undefined || !requestedSchema) {
      const said = answers.map(({ decision, input }) => `${decision} ${JSON.stringify(input ?? {})}`);
      return `${result} ${said.join(', ')}`;
    }
    const about = { name: 'user_name', message: question, requestedSchema };
    return { content: 'Nobody answers.', ask: { key: question, question, arguments: about } };
  });

const defaults = object(
  {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  [],
);
const options = ['option1', 'option2', 'option3'];
const titled = options.map((_, at) => ({ const: `value${at + 1}`, title: `Choice ${at + 1}` }));
const enums = object(
  {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  },
  [],
);
const confirm = object({ ok: { type: 'boolean' } });

const tools = [
  tool('test_simple_text', () => 'This is a simple text response for testing.'),
  tool('test_image_content', () => ({ content: [image] })),
  tool('test_audio_content', () => ({ content: [{ type: 'file', mediaType: 'audio/wav', data: WAV }] })),
  tool('test_embedded_resource', () => ({
    content: [fileOf('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  })),
  tool('test_multiple_content_types', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      fileOf('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  })),
  tool('test_error_handling', () => ({
    content: 'This tool intentionally returns an error for testing',
    isError: true,
  })),
  ...['test_tool_with_progress', 'test_tool_with_logging', 'test_logging_tool'].map((name) =>
    tool(name, ({ progress }) => {
      for (const said of ['started', 'half', 'completed']) progress(said);
      return 'It has said so three times.';
    }),
  ),
  defineTool({
    name: 'test_elicitation',
    description: 'Asks for a user name.',
    readOnly: true,
    inputSchema: object({ message: TEXT }),
    execute({ message: said }, { answers: [answer] = [] }): string | ToolResult {
      if (answer) return `User response: ${answer.decision} ${JSON.stringify(answer.input ?? {})}`;
      const message = typeof said === 'string' ? said : '';
      const requestedSchema = object({ username: TEXT, email: TEXT });
      return {
        content: 'Nobody answers.',
        ask: { key: 'user', question: message, arguments: { message, requestedSchema } },
      };
    },
  }),
  asking('test_elicitation_sep1034_defaults', [['Who are you?', defaults]], 'Elicitation completed:'),
  asking('test_elicitation_sep1330_enums', [['Which?', enums]], 'Elicitation completed:'),
  asking('test_input_required_result_elicitation', [['What is your name?', object({ name: TEXT })]], 'Hello:'),
  asking('test_streaming_elicitation', [['Please confirm', confirm]], 'Streamed:'),
  asking('test_input_required_result_request_state', [['Please confirm', confirm]], 'state-ok'),
  asking('test_input_required_result_tampered_state', [['Please confirm', confirm]], 'Confirmed.'),
  asking(
    'test_input_required_result_multi_round',
    [
      ['Step 1: What is your name?', object({ name: TEXT })],
      ['Step 2: What is your favorite color?', object({ color: TEXT })],
    ],
    'Done:',
  ),
];

const agent = defineAgent({ id: 'suite', model: scriptedModel([]), tools });
const block = (type: 'text', text: string) => ({ type, text });
const serving = await serveMcp(
  mcpServer(agent, {
    tools: true,
    resources: [
      {
        uri: 'test://static-text',
        name: 'Static text',
        mimeType: 'text/plain',
        read: () => 'This is the content of the static text resource.',
      },
      {
        uri: 'test://static-binary',
        name: 'Static binary',
        mimeType: 'image/png',
        read: () => Buffer.from(PNG, 'base64'),
      },
      {
        uri: 'test://template/{id}/data',
        name: 'Data',
        mimeType: 'application/json',
        read: ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
      },
    ],
    prompts: [
      { name: 'test_simple_prompt', description: 'Simple.', text: 'This is a simple prompt for testing.' },
      {
        name: 'test_prompt_with_arguments',
        description: 'With arguments.',
        arguments: [
          { name: 'arg1', required: true },
          { name: 'arg2', required: true },
        ],
        text: "Prompt with arguments: arg1='{{arg1}}', arg2='{{arg2}}'",
      },
      {
        name: 'test_prompt_with_embedded_resource',
        description: 'With a resource.',
        arguments: [{ name: 'resourceUri', required: true }],
        text: ({ resourceUri = '' }) => [
          {
            type: 'resource',
            resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content.' },
          },
          block('text', 'Please process the embedded resource above.'),
        ],
      },
      {
        name: 'test_prompt_with_image',
        description: 'With an image.',
        text: () => [
          { type: 'image', data: PNG, mimeType: 'image/png' },
          block('text', 'Please analyze the image above.'),
        ],
      },
    ],
  }),
  { token: process.argv[2] ?? '' },
);
process.stdout.write(`${serving.url}\n`);
