// A support agent with two tools, an approval above an amount and a structured answer.
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { Agent, run, tool } from '@openai/agents';
import { z } from 'zod';

const findOrder = tool({
  name: 'find_order',
  description: 'Finds an order.',
  parameters: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, total: 120 }),
});

const refund = tool({
  name: 'refund',
  description: 'Refunds an amount of an order.',
  parameters: z.object({ id: z.string(), amount: z.number() }),
  needsApproval: async (_context, { amount }) => amount > 100,
  execute: ({ id, amount }) => `Refunded ${amount} of ${id}.`,
});

const agent = new Agent({
  name: 'support',
  model: 'gpt-5',
  instructions: 'You help customers with their orders.',
  tools: [findOrder, refund],
  outputType: z.object({ refunded: z.boolean(), reply: z.string() }),
});

const terminal = createInterface(process.stdin, process.stdout);
let result = await run(agent, 'Please refund order 7.');
while (result.interruptions.length > 0) {
  for (const question of result.interruptions) {
    const answer = await terminal.question(`${question.name} ${question.arguments}? (y/n) `);
    if (answer === 'y') result.state.approve(question);
    else result.state.reject(question);
  }
  result = await run(agent, result.state);
}
console.log(result.finalOutput?.refunded, result.finalOutput?.reply);
terminal.close();
