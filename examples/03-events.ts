// Everything that happens is an event. Durable ones are in the log, with a number; live ones (the deltas of a message, a
// tool's progress and partial results) are for those who watch. A tool here runs a real process and shows its output.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { createSession, defineAgent, defineTool, isDurable } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

const count = defineTool({
  name: 'count',
  description: 'Counts, in a process of its own.',
  inputSchema: { type: 'object', properties: { to: { type: 'integer' } }, required: ['to'] },
  async execute({ to }, context) {
    context.progress(`counting to ${to}`);
    const program = `for (let i = 1; i <= ${to}; i++) console.log(i)`;
    // The signal is aborted when the run is cancelled or out of time.
    const child = spawn(process.execPath, ['-e', program], { signal: context.signal });
    const lines: string[] = [];
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line);
      context.update(lines.join(' ')); // Shown to those who watch; the model gets the final result alone.
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return `exit code ${String(code)}: ${lines.join(' ')}`;
  },
});

const model = scriptedModel([
  { text: 'I will count to three.', toolCalls: [{ name: 'count', arguments: { to: 3 } }] },
  'One, two, three.',
]);
const session = await createSession(defineAgent({ model, tools: [count] }));

for await (const event of session.prompt('Count.')) {
  if (isDurable(event)) console.log(event.seq, event.type);
  else if (event.type === 'message_delta') console.log('  ~', event.kind, JSON.stringify(event.text));
  else if (event.type === 'tool_progress') console.log('  ~', event.text);
  else if (event.type === 'tool_update') console.log('  ~', JSON.stringify(event.content));
}

/* Output:
2 drive_started
3 input_received
4 run_started
5 turn_started
6 message_added
  ~ text "I will count to "
  ~ text "three."
  ~ tool_arguments ""
  ~ tool_arguments "{\"to\":3}"
7 message_added
8 tool_started
  ~ counting to 3
  ~ [{"type":"text","text":"1"}]
  ~ [{"type":"text","text":"1 2"}]
  ~ [{"type":"text","text":"1 2 3"}]
9 tool_ended
10 turn_ended
11 turn_started
  ~ text "One, two, three."
12 message_added
13 turn_ended
14 run_ended
*/
