// Sessions as such: named, tagged and found, forked and done again, and replayed against another model. Nothing is copied
// by a fork, and no tool is executed by a replay.

import { createSession, defineAgent, defineTool, memoryJournal, sessionsOf } from '@treadle/core';
import { replaySession, rerunSession } from '@treadle/core/history';
import { scriptedModel } from '@treadle/testing';

let asked = 0;
const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  readOnly: true,
  execute: ({ city }) => {
    asked += 1;
    return `${city}: rain`;
  },
});
const agentThatSays = (...answers: readonly string[]) => {
  const call = { toolCalls: [{ name: 'weather', arguments: { city: 'Bergen' } }] };
  return defineAgent({ model: scriptedModel(answers.flatMap((answer) => [call, answer])), tools: [weather] });
};

const journal = memoryJournal();
const session = await createSession(agentThatSays('It rains.'), { journal });
await session.prompt('How is the weather in Bergen?').result;

const sessions = sessionsOf(journal);
await sessions.rename(session.id, 'Weather in Bergen');
await sessions.tag(session.id, ['weather']);
for await (const { session: found, where } of sessions.search('bergen'))
  console.log(`found by ${where}: ${found.title}`);

const again = await rerunSession(agentThatSays('Rain, as ever.'), session.id, { journal });
console.log(`again: ${(await again.run.result).text}`);

const report = await replaySession(agentThatSays('Take an umbrella.'), session.id, { journal });
for (const { turn, recorded, replayed } of report.differences) console.log(`turn ${turn}: ${recorded} → ${replayed}`);

await sessions.remove(session.id);
const { sessions: left } = await sessions.list();
console.log(
  `${left.length} session left with ${again.session.messages.length} messages; the weather was asked for ${asked} times`,
);

/* Output:
found by title: Weather in Bergen
again: Rain, as ever.
turn 1: It rains. → Take an umbrella.
1 session left with 4 messages; the weather was asked for 2 times
*/
