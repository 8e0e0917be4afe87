// A server among others, to be killed: `balanced-process.ts URL-OR-FOLDER`. It prints its address.
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { defineAgent, defineTool, type Model } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import { serve } from '@treadle/server';
import { localBus, sqliteJournal } from '@treadle/store';
import { postgresBus, postgresJournal } from '@treadle/store/postgres';

const [where = ''] = process.argv.slice(2);
const isDatabase = where.startsWith('postgres:');

interface Reply {
  readonly text: string;
  readonly calls?: readonly string[];
}

/** What it says depends on the conversation alone, so that any process goes on in the same way. */
function replyTo(messages: readonly { readonly role: string }[]): Reply {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(asked).filter(({ role }) => role === 'tool').length;
  if (results === 0) return { text: 'First I ask where you are, in two ways.', calls: ['locate', 'locate'] };
  if (results === 2) return { text: 'Now I look it up on the map of the country.', calls: ['map'] };
  return { text: 'You are in the middle of the town, by the river.' };
}

const model: Model = {
  provider: 'told',
  id: 'told',
  async *stream({ messages }) {
    const { text, calls = [] } = replyTo(messages);
    for (let at = 0; at < text.length; at += 8) {
      yield { type: 'text_delta', index: 0, text: text.slice(at, at + 8) };
      await setTimeout(20);
    }
    yield { type: 'block_end', index: 0, block: { type: 'text', text } };
    for (const [index, name] of calls.entries()) {
      const call = { type: 'tool_call', providerCallId: `call_${index}`, name, argumentsText: '{}' } as const;
      yield { type: 'block_end', index: index + 1, block: call };
    }
    yield { type: 'finish', stopReason: calls.length > 0 ? 'tool_use' : 'stop', usage: UNKNOWN_USAGE };
  },
};

const serving = await serve({
  agents: [
    defineAgent({
      model,
      tools: [
        defineTool({ name: 'locate', description: 'Where the user is.', runs: 'client' }),
        defineTool({ name: 'map', description: 'The map.', replay: 'safe', execute: () => 'a map' }),
      ],
    }),
  ],
  journal: isDatabase ? postgresJournal({ connection: where }) : sqliteJournal({ path: join(where, 'journal.db') }),
  bus: isDatabase ? await postgresBus({ connection: where }) : await localBus({ folder: join(where, 'live') }),
  tokens: [{ name: 'test', token: 'token-of-the-balanced' }],
  limits: { requests: { perSecond: 10_000, burst: 10_000 } },
});
process.stdout.write(`${serving.url}\n`);
