import type { JsonSchema } from '@treadle/core';
import { SESSION_ID } from '../../operations/sessions.ts';

const text: JsonSchema = { type: 'string' };
const object: JsonSchema = { type: 'object' };

/** Content of a user's message; its blocks are checked in full before they come into a log. */
const content: JsonSchema = { anyOf: [text, { type: 'array', items: object, minItems: 1 }] };

const userInput: JsonSchema = { anyOf: [text, { type: 'array', items: object, minItems: 1 }, object] };

const sessionFacts = {
  id: { type: 'string', pattern: SESSION_ID, description: 'Of the new session. Default: a new one.' },
  title: { type: 'string', minLength: 1, maxLength: 200 },
  tags: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 64 }, maxItems: 32 },
} as const satisfies Record<string, JsonSchema>;

export const newSession: JsonSchema = {
  type: 'object',
  properties: {
    ...sessionFacts,
    agent: { type: 'string', description: 'Which of the server’s agents. Default: its first.' },
    metadata: { type: 'object', description: 'Data of yours, kept in the log.' },
  },
  additionalProperties: false,
};

export const fork: JsonSchema = {
  type: 'object',
  properties: {
    ...sessionFacts,
    seq: { type: 'integer', minimum: 1, description: 'The last event they share. Default: the last one there is.' },
    metadata: object,
  },
  additionalProperties: false,
};

const runLimits: JsonSchema = {
  type: 'object',
  additionalProperties: { type: 'number', exclusiveMinimum: 0 },
  description: 'Limits of this run, lower than the agent’s.',
};

export const run: JsonSchema = {
  type: 'object',
  properties: {
    input: { ...userInput, description: 'A text, blocks, or messages.' },
    clientTools: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: text, description: text, inputSchema: object },
        required: ['name', 'description', 'inputSchema'],
        additionalProperties: false,
      },
      description: 'Tools that you run yourself, in this run. Passed over where the server takes none.',
    },
    continue: { type: 'boolean', description: 'Go on with the conversation as it is, without a prompt.' },
    metadata: object,
    limits: runLimits,
  },
  additionalProperties: false,
};

export const message: JsonSchema = {
  type: 'object',
  properties: { input: userInput },
  required: ['input'],
  additionalProperties: false,
};

export const cancellation: JsonSchema = {
  type: 'object',
  properties: { reason: text },
  additionalProperties: false,
};

export const toolResults: JsonSchema = {
  type: 'object',
  properties: {
    results: {
      type: 'array',
      minItems: 1,
      maxItems: 1000,
      items: {
        type: 'object',
        properties: { callId: text, content, isError: { type: 'boolean' } },
        required: ['callId', 'content'],
        additionalProperties: false,
      },
    },
  },
  required: ['results'],
  additionalProperties: false,
};

export const approval: JsonSchema = {
  type: 'object',
  properties: {
    decision: { enum: ['approve', 'reject'] },
    message: { type: 'string', description: 'Told to the model with a no.' },
    updatedInput: { type: 'object', description: 'Other arguments for the call.' },
    remember: { type: 'boolean', description: 'Let calls like this one run from now on, in this session.' },
    interrupt: { type: 'boolean', description: 'With a no: end the run.' },
  },
  required: ['decision'],
  additionalProperties: false,
};

export const title: JsonSchema = {
  type: 'object',
  properties: { title: { ...sessionFacts.title, description: 'One line.' } },
  required: ['title'],
  additionalProperties: false,
};

export const tags: JsonSchema = {
  type: 'object',
  properties: { add: sessionFacts.tags, remove: sessionFacts.tags },
  additionalProperties: false,
};

const again = {
  ...sessionFacts,
  tag: { type: 'string', minLength: 1, maxLength: 200, description: 'Names the attempt. Default: the time.' },
  metadata: { type: 'object', description: 'Data of yours about the run, kept in the log.' },
  limits: runLimits,
} as const satisfies Record<string, JsonSchema>;

export const rerun: JsonSchema = {
  type: 'object',
  properties: { ...again, runId: { type: 'string', description: 'The run. Default: the latest.' } },
  additionalProperties: false,
};

export const branch: JsonSchema = {
  type: 'object',
  properties: {
    ...again,
    input: { ...userInput, description: 'What the branch is told. Without it, it goes on with the history as it is.' },
    instead: {
      anyOf: [{ type: 'string' }, { const: true }],
      description: 'From where this run, or with `true` the latest, began.',
    },
    seq: { type: 'integer', minimum: 1, description: 'From this event. Without either: from the end.' },
  },
  additionalProperties: false,
};

export const replay: JsonSchema = {
  type: 'object',
  properties: {
    runId: { type: 'string', description: 'The run to begin with. Default: the first.' },
    turn: { type: 'integer', minimum: 0, description: 'Its turn to begin with.' },
    model: { enum: ['agent', 'recorded'], description: 'Who replies. Default: the agent’s model.' },
    onMiss: {
      enum: ['stop', 'execute'],
      description: 'What becomes of calls without a recorded result. Default `stop`.',
    },
    keep: { type: 'boolean', description: 'Keep the fork in which it was replayed.' },
  },
  additionalProperties: false,
};

export const answerTokens: JsonSchema = {
  type: 'object',
  properties: { callId: { type: 'string', description: 'Only for this call. Default: for all that wait.' } },
  additionalProperties: false,
};

export const tokenAnswer: JsonSchema = {
  type: 'object',
  properties: {
    decision: { enum: ['approve', 'reject'] },
    message: { type: 'string', description: 'Told to the model with a no.' },
    updatedInput: { type: 'object', description: 'Other arguments for the call.' },
    content: { ...content, description: 'The result of a client tool.' },
    isError: { type: 'boolean' },
    results: {
      type: 'array',
      minItems: 1,
      maxItems: 1000,
      description: 'The results of several client tools, each with its token.',
      items: {
        type: 'object',
        properties: { token: text, content, isError: { type: 'boolean' } },
        required: ['token', 'content'],
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
};
