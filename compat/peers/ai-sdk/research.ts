// A research agent with sub-agents and one budget. The budget counts tokens, by hand, and is checked after each step.
import { openai } from '@ai-sdk/openai';
import { isStepCount, tool, ToolLoopAgent } from 'ai';
import { z } from 'zod';

const BUDGET = 200_000;
let spent = 0;
const withinBudget = {
  onStepEnd: ({ usage }: { usage: { totalTokens: number | undefined } }) => {
    spent += usage.totalTokens ?? 0;
  },
  stopWhen: [isStepCount(20), () => spent >= BUDGET],
};

const researcher = new ToolLoopAgent({
  model: openai('gpt-5-mini'),
  instructions: 'Research one question. Answer in a paragraph, with sources.',
  tools: { search: openai.tools.webSearch() },
  ...withinBudget,
});

const lead = new ToolLoopAgent({
  model: openai('gpt-5'),
  instructions: 'Split the question, research each part, and write a report.',
  tools: {
    research: tool({
      description: 'Researches one question.',
      inputSchema: z.object({ question: z.string() }),
      execute: async ({ question }, { abortSignal }) => {
        if (spent >= BUDGET) throw new Error('The budget is spent.');
        return (await researcher.generate({ prompt: question, abortSignal })).text;
      },
    }),
  },
  ...withinBudget,
});

const { text } = await lead.generate({ prompt: 'How do weaving looms work?' });
console.log(text, spent, 'tokens');
