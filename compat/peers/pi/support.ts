// A support agent with two tools, an approval above an amount and a structured answer, which is the arguments of a tool.
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { Agent, type AgentTool } from '@earendil-works/pi-agent-core';
import { builtinModels, getBuiltinModel } from '@earendil-works/pi-ai/providers/all';
import { type Static, Type } from 'typebox';

const terminal = createInterface(process.stdin, process.stdout);
const textOf = (text: string) => ({ content: [{ type: 'text' as const, text }], details: undefined });

const findOrderSchema = Type.Object({ id: Type.String() });
const findOrder: AgentTool<typeof findOrderSchema> = {
  name: 'find_order',
  label: 'Find order',
  description: 'Finds an order.',
  parameters: findOrderSchema,
  execute: async (_id, { id }) => textOf(JSON.stringify({ id, total: 120 })),
};

const refundSchema = Type.Object({ id: Type.String(), amount: Type.Number() });
const refund: AgentTool<typeof refundSchema> = {
  name: 'refund',
  label: 'Refund',
  description: 'Refunds an amount of an order.',
  parameters: refundSchema,
  execute: async (_id, { id, amount }) => {
    if (amount > 100 && (await terminal.question(`refund ${id} ${amount}? (y/n) `)) !== 'y')
      throw new Error('Refused.');
    return textOf(`Refunded ${amount} of ${id}.`);
  },
};

const answerSchema = Type.Object({ refunded: Type.Boolean(), reply: Type.String() });
let answer: Static<typeof answerSchema> | undefined;
const giveAnswer: AgentTool<typeof answerSchema> = {
  name: 'answer',
  label: 'Answer',
  description: 'Gives the final answer.',
  parameters: answerSchema,
  execute: async (_id, given) => {
    answer = given;
    return { ...textOf('Done.'), terminate: true };
  },
};

const models = builtinModels();
const agent = new Agent({
  initialState: {
    systemPrompt: 'You help customers with their orders. Give the final answer with the tool `answer`.',
    model: getBuiltinModel('openai', 'gpt-5'),
    tools: [findOrder, refund, giveAnswer],
  },
  streamFn: models.streamSimple.bind(models),
});

await agent.prompt('Please refund order 7.');
console.log(answer?.refunded, answer?.reply);
terminal.close();
