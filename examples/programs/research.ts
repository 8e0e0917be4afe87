// A lead gives questions to agents that read the web, and to one that doubts. All of them share one budget.
import { agentsTool, createSession, defineAgent, model, webFetchTool } from 'treadle';

const reader = defineAgent({
  id: 'reader',
  model: model('anthropic/claude-haiku-4-5'),
  instructions: 'Read the pages you are given. Report what they say, each fact with its address.',
  tools: [webFetchTool()],
  permissions: { allow: ['web_fetch'] },
});
const critic = defineAgent({
  id: 'critic',
  model: model('anthropic/claude-haiku-4-5'),
  instructions: 'Say which claims have no source, and which contradict each other.',
});
const team = agentsTool({
  reader: { agent: reader, description: 'Reads pages of the web.' },
  critic: { agent: critic, description: 'Finds what is wrong with a draft.' },
});
const lead = defineAgent({
  model: model('anthropic/claude-sonnet-5-5'),
  instructions: 'Answer with sources. Let readers work side by side, and the critic read your draft.',
  tools: [team],
  permissions: { allow: ['web_fetch'] },
  limits: { maxCost: 0.5 },
});
const { text, cost, costBreakdown } = await (await createSession(lead)).prompt('Why are there tides?').result;
console.log(text, cost, costBreakdown.subAgents);
