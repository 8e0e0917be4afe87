// What a run comes to: a value that fits a schema, or a text that a check of yours accepts. What doesn't fit goes back to
// the model with the reason, a few times at most. And what comes in can be looked at first, by filters.

import { createSession, defineAgent } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { z } from 'zod';

const Invoice = z.object({ customer: z.string(), items: z.array(z.object({ name: z.string(), price: z.number() })) });
const invoice = (price: number | string) => ({
  toolCalls: [{ name: 'structured_output', arguments: { customer: 'Ada', items: [{ name: 'tea', price }] } }],
});

const clerk = defineAgent({
  model: scriptedModel([invoice('cheap'), invoice(3.5)]),
  output: { schema: Invoice },
  inputGuardrails: [
    (text) =>
      text.includes('password') ? { verdict: 'reject', reason: 'No passwords, please.' } : { verdict: 'pass' },
  ],
});
const desk = await createSession(clerk);
for await (const event of desk.prompt('Ada bought tea for 3.50.')) {
  if (event.type === 'tool_call_rejected') console.log(event.reason, JSON.stringify(event.content));
  if (event.type === 'run_ended') console.log(event.status);
}
const { status, message } = await desk.prompt('My password is 1234.').result;
console.log(status, message);

const summariser = defineAgent({
  model: scriptedModel(['It was a long story, and I will tell it from its beginning.', 'A short one.']),
  outputGuardrails: [
    (text) => (text.split(' ').length < 6 ? { ok: true } : { ok: false, message: 'At most five words.' }),
  ],
});
const told = await (await createSession(summariser)).prompt('Sum it up.').result;
console.log(told.status, told.turns, told.text);

/* Output:
invalid_arguments [{"type":"text","text":"Not executed: the arguments of structured_output don't fit its schema.\n- /items/0/price: Invalid input: expected number, received string"}]
completed
rejected No passwords, please.
completed 2 A short one.
*/
