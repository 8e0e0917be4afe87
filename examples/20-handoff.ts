// An agent at the desk that hands the session over to another, which sees only what it is to see. The log says who drives:
// another process that opens the session goes on with the same agent.

import { createSession, defineAgent, handoffTool, memoryJournal, openSession } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

const billing = defineAgent({
  id: 'billing',
  model: scriptedModel(({ messages }) => `I was shown ${messages.length} messages. Your invoice is on its way.`),
  instructions: 'Answer questions about invoices.',
});
const desk = defineAgent({
  id: 'desk',
  model: scriptedModel([
    'Good morning. What can I do for you?',
    { toolCalls: [{ name: 'hand_off_to_billing', arguments: { message: 'Needs the invoice of March.' } }] },
  ]),
  tools: [
    handoffTool(billing, {
      description: 'Hands over to billing: for all about invoices.',
      // What was said before the last question stays at the desk.
      filter: (messages) => messages.slice(messages.findLastIndex(({ role }) => role === 'user')),
    }),
  ],
});

const journal = memoryJournal();
const session = await createSession(desk, { journal, id: 'talk', agents: [billing] });
console.log('desk:', (await session.prompt('Good morning.').result).text);
const { stopTool } = await session.prompt('Send me the invoice of March.').result;
console.log('called:', stopTool?.name);

const later = await openSession(desk, 'talk', { journal, agents: [billing] });
console.log(`${later.agent.id}:`, (await later.continue().result).text);

/* Output:
desk: Good morning. What can I do for you?
called: hand_off_to_billing
billing: I was shown 3 messages. Your invoice is on its way.
*/
