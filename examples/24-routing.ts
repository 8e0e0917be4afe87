// A model for each turn: a small one for what is easy, a large one once it has failed, and a table that says so. The two are
// servers on this machine that speak real protocols of two providers; only what the models say is written down.

import { createSession, defineAgent, defineTool, memoryJournal } from '@treadle/core';
import type { Route } from '@treadle/core/features';
import { costTable } from '@treadle/core/projections';
import { resolveModel } from '@treadle/models';
import { fakeProvider, logOf } from '@treadle/testing';

const test = defineTool({ name: 'run_tests', description: 'Runs the tests.', execute: () => '1 of 12 tests failed' });
const call = { toolCalls: [{ name: 'run_tests', arguments: {} }] };
const cheap = await fakeProvider([call, call]);
const dear = await fakeProvider(['The clock was read twice. I have read it once, and all tests pass.']);

// The first line that holds is taken. Without one the model stays that of the turn before.
const routes: Route[] = [
  { model: 'default', when: { turnIndex: { from: 2 }, calledTools: ['run_tests'] } },
  { model: 'small', when: { turnIndex: { to: 0 } } },
];
const agent = defineAgent({
  model: resolveModel('anthropic/claude-sonnet-5-5', { apiKey: 'none', baseUrl: dear.anthropicBaseUrl }),
  tools: [test],
  routing: {
    models: { small: resolveModel('groq/openai/gpt-oss-120b', { apiKey: 'none', baseUrl: cheap.openaiBaseUrl }) },
    choose: routes,
  },
});

const journal = memoryJournal();
const session = await createSession(agent, { journal });
for await (const event of session.prompt('Make the tests pass.')) {
  if (event.type === 'decision_made') console.log('chosen:', JSON.stringify(event.decision));
  if (event.type === 'turn_started')
    console.log('turn', event.turnIndex, agent.models[event.modelIndex ?? 0]?.provider);
}
for (const { provider, calls, cost } of costTable(await logOf(journal, session.id)).models) {
  console.log(`${provider}: ${calls} calls, $${cost?.toFixed(6) ?? '?'}`);
}
await Promise.all([cheap.close(), dear.close()]);

/* Output:
chosen: {"model":"small","provider":"groq","id":"openai/gpt-oss-120b"}
turn 0 groq
chosen: {"model":null}
turn 1 groq
chosen: {"model":"default","provider":"anthropic","id":"claude-sonnet-5-5"}
turn 2 anthropic
groq: 2 calls, $0.000009
anthropic: 1 calls, $0.000070
*/
