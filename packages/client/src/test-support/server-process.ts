import { defineAgent, defineTool, type Model } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import { serve } from '@treadle/server';
import { sqliteJournal } from '@treadle/store';

// A server in a process of its own, to be killed: `node server-process.ts FOLDER PORT`. It prints its port.

const [folder = '', port = '0'] = process.argv.slice(2);

interface Reply {
  readonly text: string;
  readonly calls?: readonly string[];
}

/** What it says depends on the conversation alone, so that any process goes on in the same way. */
function replyTo(messages: readonly { readonly role: string }[]): Reply {
  const results = messages.filter(({ role }) => role === 'tool').length;
  if (results === 0) return { text: 'First I ask where you are, in two ways.', calls: ['locate', 'locate'] };
  if (results === 2) return { text: 'Now I look it up on the map of the country.', calls: ['map'] };
  return { text: 'You are in the middle of the town, by the river.' };
}

/** Nothing is loaded for it: a process that is to be killed soon should be there soon. */
const model: Model = {
  provider: 'told',
  id: 'told',
  async *stream({ messages }) {
    const { text, calls = [] } = replyTo(messages);
    for (let at = 0; at < text.length; at += 8) {
      yield { type: 'text_delta', index: 0, text: text.slice(at, at + 8) };
      // Others are served between deltas, and deaths come in the middle of messages.
      await new Promise((resolve) => setImmediate(resolve));
    }
    yield { type: 'block_end', index: 0, block: { type: 'text', text } };
    for (const [index, name] of calls.entries()) {
      const call = { type: 'tool_call', providerCallId: `call_${index}`, name, argumentsText: '{}' } as const;
      yield { type: 'block_end', index: index + 1, block: call };
    }
    yield { type: 'finish', stopReason: calls.length > 0 ? 'tool_use' : 'stop', usage: UNKNOWN_USAGE };
  },
};

const agent = defineAgent({
  model,
  tools: [
    defineTool({ name: 'locate', description: 'Where the user is.', runs: 'client' }),
    defineTool({ name: 'map', description: 'The map.', replay: 'safe', execute: () => 'a map' }),
  ],
});

if (folder !== '') {
  const { port: actual } = await serve({
    agents: [agent],
    journal: sqliteJournal({ path: `${folder}/journal.db` }),
    tokens: [{ name: 'test', token: 'token-of-the-killed' }],
    port: Number(port),
    limits: { requests: { perSecond: 10_000, burst: 10_000 } },
  });
  process.stdout.write(`${actual}\n`);
}
