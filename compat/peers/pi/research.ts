// A research agent with sub-agents and one budget. The budget counts dollars, by hand, and is checked after each reply.
import { Agent, type AgentTool } from '@earendil-works/pi-agent-core';
import { builtinModels, getBuiltinModel } from '@earendil-works/pi-ai/providers/all';
import { Type } from 'typebox';

const BUDGET = 0.5;
let spent = 0;
const models = builtinModels();

function createAgent(systemPrompt: string, modelId: 'gpt-5' | 'gpt-5-mini', tools: AgentTool[]) {
  const model = getBuiltinModel('openai', modelId);
  const agent = new Agent({ initialState: { systemPrompt, model, tools }, streamFn: models.streamSimple.bind(models) });
  agent.subscribe((event) => {
    if (event.type !== 'message_end' || event.message.role !== 'assistant') return;
    spent += event.message.usage.cost.total;
    if (spent >= BUDGET) agent.abort();
  });
  return agent;
}

async function ask(agent: Agent, prompt: string) {
  await agent.prompt(prompt);
  const last = agent.state.messages.findLast((message) => message.role === 'assistant');
  return last?.content.map((block) => (block.type === 'text' ? block.text : '')).join('') ?? '';
}

const searchSchema = Type.Object({ query: Type.String() });
const search: AgentTool<typeof searchSchema> = {
  name: 'search',
  label: 'Search',
  description: 'Searches the web.',
  parameters: searchSchema,
  execute: async (_id, { query }) => ({
    content: [{ type: 'text', text: `Results for ${query}.` }],
    details: undefined,
  }),
};

const researchSchema = Type.Object({ question: Type.String() });
const research: AgentTool<typeof researchSchema> = {
  name: 'research',
  label: 'Research',
  description: 'Researches one question.',
  parameters: researchSchema,
  execute: async (_id, { question }) => {
    if (spent >= BUDGET) throw new Error('The budget is spent.');
    const researcher = createAgent('Research one question. Answer in a paragraph.', 'gpt-5-mini', [search]);
    return { content: [{ type: 'text', text: await ask(researcher, question) }], details: undefined };
  },
};

const lead = createAgent('Split the question, research each part, and write a report.', 'gpt-5', [research]);
console.log(await ask(lead, 'How do weaving looms work?'), spent, 'dollars');
