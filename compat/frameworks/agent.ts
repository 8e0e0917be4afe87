// An agent behind a server, as an application declares it. The model is scripted, so that no network is needed.
import { defineAgent, memoryJournal } from '@treadle/core';
import { createServer } from '@treadle/server';
import { scriptedModel } from '@treadle/testing';

export const server = createServer({
  agents: [defineAgent({ model: scriptedModel(({ messages }) => `This is message ${messages.length}.`) })],
  journal: memoryJournal(),
  tokens: [{ name: 'me', token: 'a-token-of-my-own' }],
  basePath: '/api/agents',
});
