// An agent that gives work to two others, side by side. One of them must be approved to pay: the question comes up at the
// top, and is answered there. Each works in a session of its own, linked to the call that started it.

import { asTool, createSession, defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { linkSessions, sessionTree } from '@treadle/core/projections';
import { logOf, scriptedModel } from '@treadle/testing';

const pay = defineTool({
  name: 'pay',
  description: 'Pays an invoice.',
  inputSchema: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
  approval: 'always',
  execute: ({ amount }) => `Paid ${amount}.`,
});
const payer = defineAgent({
  id: 'payer',
  model: scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { amount: 20 } }] }, 'The invoice is paid.']),
  tools: [pay],
});
const reader = defineAgent({ id: 'reader', model: scriptedModel(['The invoice is from the printer.']) });

const model = scriptedModel([
  {
    toolCalls: [
      { name: 'reader', arguments: { prompt: 'Who sent invoice 7?' } },
      { name: 'payer', arguments: { prompt: 'Pay invoice 7.' } },
    ],
  },
  'The printer has been paid.',
]);
const boss = defineAgent({
  model,
  tools: [
    asTool(reader, { description: 'Reads mail and files.' }),
    asTool(payer, { description: 'Pays invoices.', limits: { maxTurns: 5 } }),
  ],
});

const journal = memoryJournal();
const session = await createSession(boss, { journal, id: 'office' });
session.subscribe((event) => {
  if (event.type === 'child_event' && event.event.type === 'run_started') console.log('began:', event.event.agentId);
});
const paused = await session.prompt('See to invoice 7.').result;
const [question] = paused.pending;
if (question?.type !== 'approval') throw new Error('Nobody was asked.');
console.log('asked:', question.toolName, question.arguments);
const result = await session.approve(question).result;
console.log(result.text);

const { sessions } = await journal.list();
const trees = await Promise.all(sessions.map(async ({ sessionId }) => sessionTree(await logOf(journal, sessionId))));
for (const { agentId, parentSpawn } of linkSessions(trees).toSorted((a, b) =>
  (a.agentId ?? '').localeCompare(b.agentId ?? ''),
)) {
  console.log(
    agentId,
    parentSpawn ? `was started by ${parentSpawn.toolName} of ${parentSpawn.parentSessionId}` : 'is the top',
  );
}

/* Output:
began: reader
began: payer
asked: pay { amount: 20 }
The printer has been paid.
agent is the top
payer was started by payer of office
reader was started by reader of office
*/
