// Answers customers, and pays money back. A person approves more than 50.
import { createSession, defineAgent, defineTool, model } from 'treadle';
import { z } from 'zod';

const orders = new Map([['A-1', { item: 'lamp', price: 80 }]]);
const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number.',
  inputSchema: z.object({ order: z.string() }),
  execute: ({ order }) => orders.get(order),
});
const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  inputSchema: z.object({ order: z.string(), amount: z.number() }),
  approval: ({ amount }) => amount > 50,
  execute: ({ order, amount }) => ({ order, refunded: amount }),
});
const output = { schema: z.object({ reply: z.string(), refunded: z.number() }) };
const agent = defineAgent({ model: model('anthropic/claude-sonnet-5-5'), tools: [findOrder, refund], output });
const session = await createSession(agent);
let result = await session.prompt('My lamp came broken. The order is A-1.').result;
for (const call of result.pending) if (call.type === 'approval') result = await session.approve(call).result;
console.log(result.output?.reply, result.output?.refunded);
