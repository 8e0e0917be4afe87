// Conversations that are the same through any client of the protocol: ours in the tests, and one that is installed
// elsewhere in `scripts/check-agent-sdk.ts`.

import type { fakeProvider } from '@treadle/testing';

import type { Json, Options } from './client.ts';

interface Conversation {
  readonly name: string;
  readonly turns: Parameters<typeof fakeProvider>[0];
  readonly prompt: string;
  readonly options: Partial<Options>;
  /** What is wrong with the messages; null when nothing is. */
  readonly problem: (messages: readonly Json[]) => string | null;
}

const WRITES = { toolCalls: [{ name: 'bash', arguments: { command: 'echo plum > a.txt' } }] };
const SCHEMA = { type: 'object', properties: { fruit: { type: 'string' } }, required: ['fruit'] };

/** Whether the last message is a result with these fields, and a text is in some message. */
const ends =
  (fields: Json, text = '') =>
  (messages: readonly Json[]): string | null => {
    const result = messages.findLast(({ type }) => type === 'result') ?? {};
    const wrong = Object.entries(fields).filter(
      ([name, value]) => JSON.stringify(result[name]) !== JSON.stringify(value),
    );
    if (wrong.length > 0) return `The result is ${JSON.stringify(result)}, and not ${JSON.stringify(fields)}.`;
    return JSON.stringify(messages).includes(text) ? null : `No message has ${JSON.stringify(text)}.`;
  };

export const CONVERSATIONS: readonly Conversation[] = [
  {
    name: 'answers a prompt',
    turns: ['Hello.'],
    prompt: 'Hi.',
    options: {},
    problem: ends({ subtype: 'success', is_error: false, result: 'Hello.', num_turns: 1 }),
  },
  {
    name: 'goes on after a no',
    turns: [WRITES, 'Then not.'],
    prompt: 'Write a plum.',
    options: { canUseTool: async () => ({ behavior: 'deny', message: 'Not today.' }) },
    problem: ends({ subtype: 'success', result: 'Then not.' }, 'Not today.'),
  },
  {
    name: 'runs a call with the input that the client changed',
    turns: [WRITES, 'Done.'],
    prompt: 'Write a plum.',
    options: { canUseTool: async () => ({ behavior: 'allow', updatedInput: { command: 'echo pear' } }) },
    problem: ends({ subtype: 'success', result: 'Done.' }, 'pear'),
  },
  {
    name: 'lets a hook deny a call',
    turns: [WRITES, 'Then not.'],
    prompt: 'Write a plum.',
    options: {
      hooks: {
        PreToolUse: [
          {
            matcher: 'Bash',
            hooks: [
              async () => ({
                hookSpecificOutput: {
                  hookEventName: 'PreToolUse',
                  permissionDecision: 'deny',
                  permissionDecisionReason: 'No plums.',
                },
              }),
            ],
          },
        ],
      },
    },
    problem: ends({ subtype: 'success', result: 'Then not.' }, 'No plums.'),
  },
  {
    name: 'comes to a value that fits a schema',
    turns: ({ rawBody }) =>
      rawBody.includes('"structured_output"')
        ? { toolCalls: [{ name: 'structured_output', arguments: { fruit: 'plum' } }] }
        : JSON.stringify({ fruit: 'plum' }),
    prompt: 'Which fruit?',
    options: { outputFormat: { type: 'json_schema', schema: SCHEMA } },
    problem: ends({ subtype: 'success', structured_output: { fruit: 'plum' } }),
  },
  {
    name: 'has another agent read',
    turns: [
      { toolCalls: [{ name: 'agent', arguments: { subagent_type: 'reader', prompt: 'Read.' } }] },
      'It says plum.',
      'Plum.',
    ],
    prompt: 'Ask the reader.',
    options: { agents: { reader: { description: 'Reads.', prompt: 'You read files.', tools: ['Read'] } } },
    problem: ends({ subtype: 'success', result: 'Plum.' }, 'It says plum.'),
  },
  {
    name: 'streams partial messages',
    turns: ['Hello, this is a longer answer.'],
    prompt: 'Hi.',
    options: { includePartialMessages: true },
    problem: ends({ subtype: 'success' }, 'content_block_delta'),
  },
];
