// A support agent with two tools, an approval above an amount and a structured answer.
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { openai } from '@ai-sdk/openai';
import { type ModelMessage, Output, tool, ToolLoopAgent, type ToolApprovalResponse } from 'ai';
import { z } from 'zod';

const agent = new ToolLoopAgent({
  model: openai('gpt-5'),
  instructions: 'You help customers with their orders.',
  tools: {
    findOrder: tool({
      description: 'Finds an order.',
      inputSchema: z.object({ id: z.string() }),
      execute: ({ id }) => ({ id, total: 120 }),
    }),
    refund: tool({
      description: 'Refunds an amount of an order.',
      inputSchema: z.object({ id: z.string(), amount: z.number() }),
      execute: ({ id, amount }) => `Refunded ${amount} of ${id}.`,
    }),
  },
  toolApproval: { refund: ({ amount }) => (amount > 100 ? 'user-approval' : 'not-applicable') },
  output: Output.object({ schema: z.object({ refunded: z.boolean(), reply: z.string() }) }),
});

const terminal = createInterface(process.stdin, process.stdout);
const messages: ModelMessage[] = [{ role: 'user', content: 'Please refund order 7.' }];
let result = await agent.generate({ messages });
for (;;) {
  messages.push(...result.finalStep.response.messages);
  const content: ToolApprovalResponse[] = [];
  for (const part of result.content) {
    if (part.type !== 'tool-approval-request') continue;
    const answer = await terminal.question(`${part.toolCall.toolName} ${JSON.stringify(part.toolCall.input)}? (y/n) `);
    content.push({ type: 'tool-approval-response', approvalId: part.approvalId, approved: answer === 'y' });
  }
  if (content.length === 0) break;
  messages.push({ role: 'tool', content });
  result = await agent.generate({ messages });
}
console.log(result.output.refunded, result.output.reply);
terminal.close();
