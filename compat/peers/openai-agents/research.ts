// A research agent with sub-agents and one budget. The budget counts tokens, by hand, and is checked before each research.
import { Agent, run, tool, webSearchTool } from '@openai/agents';
import { z } from 'zod';

const BUDGET = 200_000;
let spent = 0;

const researcher = new Agent({
  name: 'researcher',
  model: 'gpt-5-mini',
  instructions: 'Research one question. Answer in a paragraph, with sources.',
  tools: [webSearchTool()],
});

const research = tool({
  name: 'research',
  description: 'Researches one question.',
  parameters: z.object({ question: z.string() }),
  execute: async ({ question }, context) => {
    if (spent + (context?.usage.totalTokens ?? 0) >= BUDGET) throw new Error('The budget is spent.');
    const result = await run(researcher, question, { maxTurns: 10 });
    spent += result.state.usage.totalTokens;
    return result.finalOutput ?? 'No answer.';
  },
});

const lead = new Agent({
  name: 'lead',
  model: 'gpt-5',
  instructions: 'Split the question, research each part, and write a report.',
  tools: [research],
});

const result = await run(lead, 'How do weaving looms work?', { maxTurns: 20 });
console.log(result.finalOutput, spent + result.state.usage.totalTokens, 'tokens');
