// Agents over HTTP: a client answers a tool and an approval, and the run goes on when its server is gone and another one
// has come. The log is all that the two servers share.

import { createClient } from '@treadle/client';
import { defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { serve } from '@treadle/server';
import { scriptedModel } from '@treadle/testing';

const place = defineTool({ name: 'place', description: 'Where the user is.', runs: 'client' });
const book = defineTool({ name: 'book', description: 'Books a trip.', approval: 'always', execute: () => 'Booked.' });
const journal = memoryJournal();
// Each server has a model of its own, which looks at what was said.
const agent = () =>
  defineAgent({
    id: 'travel',
    tools: [place, book],
    model: scriptedModel(({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length;
      if (results === 0) return { text: 'Where are you?', toolCalls: [{ name: 'place' }] };
      return results === 1 ? { text: 'Shall I book?', toolCalls: [{ name: 'book' }] } : 'Have a good trip.';
    }),
  });
const tokens = [{ name: 'me', token: 'a-token-that-only-i-know' }];

const first = await serve({ agents: [agent()], journal, tokens });
const here = createClient({ url: first.url, token: 'a-token-that-only-i-know' });
const session = await here.createSession({ id: 'trip' });
const paused = await session.run('Take me to the sea.', { tools: { place: () => 'Oslo' } });
console.log(paused.status, '>', paused.pending.map(({ toolName }) => toolName).join(', '));
await first.close();

const second = await serve({ agents: [agent()], journal, tokens });
const there = createClient({ url: second.url, token: 'a-token-that-only-i-know' });
const again = there.session('trip');
const [question] = (await again.read()).pending;
await again.approve(question?.approvalId ?? '');
const roles: string[] = [];
for await (const { event } of again.stream()) {
  if (event.type === 'message_added') roles.push(event.message.role);
  if (event.type === 'tool_ended') roles.push('tool');
  if (event.type !== 'run_ended') continue;
  console.log(event.status, '>', event.turns, 'turns');
  break;
}
console.log(roles.join(' '));
await second.close();

/* Output:
paused > book
completed > 3 turns
user assistant tool assistant tool assistant
*/
