import type { JsonSchema } from '@treadle/core';
import { SESSION_ID } from '../operations/sessions.ts';

const text: JsonSchema = { type: 'string' };
const object: JsonSchema = { type: 'object' };

/** Content of a user's message; its blocks are checked in full before they come into a log. */
const content: JsonSchema = { anyOf: [text, { type: 'array', items: object, minItems: 1 }] };

const userInput: JsonSchema = { anyOf: [text, { type: 'array', items: object, minItems: 1 }, object] };

export const newSession: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: SESSION_ID, description: 'Default: a new one.' },
    agent: { type: 'string', description: 'Which of the server’s agents. Default: its first.' },
    metadata: { type: 'object', description: 'Data of yours, kept in the log.' },
  },
  additionalProperties: false,
};

export const fork: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: SESSION_ID },
    seq: { type: 'integer', minimum: 1, description: 'The last event they share. Default: the last one there is.' },
    metadata: object,
  },
  additionalProperties: false,
};

export const run: JsonSchema = {
  type: 'object',
  properties: {
    input: { ...userInput, description: 'A text, blocks, or messages.' },
    continue: { type: 'boolean', description: 'Go on with the conversation as it is, without a prompt.' },
    metadata: object,
    limits: {
      type: 'object',
      additionalProperties: { type: 'number', exclusiveMinimum: 0 },
      description: 'Limits of this run, lower than the agent’s.',
    },
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
    decision: { enum: ['approve', 'deny'] },
    message: { type: 'string', description: 'Told to the model with a no.' },
    updatedInput: { type: 'object', description: 'Other arguments for the call.' },
    remember: { type: 'boolean', description: 'Let calls like this one run from now on, in this session.' },
    interrupt: { type: 'boolean', description: 'With a no: end the run.' },
  },
  required: ['decision'],
  additionalProperties: false,
};
