// Tools with typed arguments: the schema types `execute`, tells the model what to send, and is checked before each call.
// What doesn't fit, and what a tool throws, goes back to the model as an error it can react to.

import { DatabaseSync } from 'node:sqlite';

import { createSession, defineAgent, defineTool } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { z } from 'zod';

const shop = new DatabaseSync(':memory:');
shop.exec(
  `create table stock (item text primary key, count integer); insert into stock values ('tea', 3), ('rice', 9)`,
);

const stock = defineTool({
  name: 'stock',
  description: 'How many pieces of an item there are.',
  inputSchema: { type: 'object', properties: { item: { enum: ['tea', 'rice'] } }, required: ['item'] },
  readOnly: true, // Such calls may run side by side, and again after a crash.
  // `item` is 'tea' | 'rice' here.
  execute: ({ item }) => String(shop.prepare('select count from stock where item = ?').get(item)?.['count']),
});

const take = defineTool({
  name: 'take',
  description: 'Takes pieces of an item out of the stock.',
  inputSchema: z.object({ item: z.enum(['tea', 'rice']), count: z.int().min(1) }), // Any Standard Schema will do.
  execution: 'sequential',
  execute({ item, count }) {
    const left = shop.prepare('update stock set count = count - ? where item = ? and count >= ?');
    if (left.run(count, item, count).changes === 0) throw new Error(`There is not so much ${item}.`);
    return { content: `Took ${count} ${item}.`, details: { item, count } }; // Details are for programs, not for models.
  },
});

// The model is scripted: it says these things, whatever it is asked. All else is as with a real one.
const model = scriptedModel([
  {
    toolCalls: [
      { name: 'stock', arguments: { item: 'tea' } },
      { name: 'stock', arguments: { item: 'coffee' } },
    ],
  },
  {
    toolCalls: [
      { name: 'take', arguments: { item: 'tea', count: 0 } },
      { name: 'take', arguments: { item: 'tea', count: 7 } },
    ],
  },
  { toolCalls: [{ name: 'take', arguments: { item: 'tea', count: 2 } }] },
  'Two packets of tea are yours.',
]);
const session = await createSession(defineAgent({ model, tools: [stock, take] }));

for await (const event of session.prompt('Get me some tea.')) {
  if (event.type === 'tool_call_rejected' || event.type === 'tool_ended') {
    console.log(event.type, event.content.map((block) => (block.type === 'text' ? block.text : '')).join());
  }
  if (event.type === 'run_ended') console.log(event.status, JSON.stringify(shop.prepare('select * from stock').all()));
}

/* Output:
tool_call_rejected Not executed: the arguments of stock don't fit its schema.
- /item: must be one of "tea", "rice", got string "coffee"
tool_ended 3
tool_call_rejected Not executed: the arguments of take don't fit its schema.
- /count: Too small: expected number to be >=1
tool_ended take failed: There is not so much tea.
tool_ended Took 2 tea.
completed [{"item":"tea","count":1},{"item":"rice","count":9}]
*/
