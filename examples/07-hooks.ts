// Hooks have a say at each moment of the loop. Here one rewrites a call's arguments, one is a shell command that refuses
// calls, one keeps a list of what was run, and one keeps the run going until the tests have passed.

import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent, defineHook } from '@treadle/core';
import type { HookCall } from '@treadle/core/features';
import { scriptedModel } from '@treadle/testing';
import { bashTool, commandHook } from '@treadle/tools';

const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
const list = join(folder, 'list.txt');
const bash = (command: string) => ({ toolCalls: [{ name: 'bash', arguments: { command } }] });

/** The arguments of a call are JSON, as the model wrote it. */
const commandOf = (call: HookCall): string =>
  typeof call.arguments['command'] === 'string' ? call.arguments['command'] : '';

const inFolder = defineHook('before_tool', (call) => ({ input: { command: `cd src && ${commandOf(call)}` } }));
// It gets what happens as JSON on standard input. Exit code 2 means no, and standard error says why.
const noNetwork = commandHook('before_tool', {
  command: 'if grep -q curl; then echo "No network here." >&2; exit 2; fi',
  folder,
  matcher: 'bash',
});
let hasPassed = false;
const keepList = defineHook('after_tool', (call) => {
  appendFileSync(list, `${commandOf(call)}\n`);
  const [result] = call.content;
  if (commandOf(call).includes('--test')) hasPassed = result?.type === 'text' && result.text.startsWith('exit code 0');
});
const untilTested = defineHook('stop', () => hasPassed || { decision: 'deny', reason: 'Run the tests first.' });

const model = scriptedModel([
  bash('curl example.com'),
  'It works, I think.',
  bash('node --test sum.test.js'),
  'It works, the test has passed.',
]);
const hooks = [inFolder, noNetwork, keepList, untilTested];
const permissions = { allow: ['bash'] };
const session = await createSession(defineAgent({ model, tools: [bashTool({ root: folder })], hooks, permissions }));

mkdirSync(join(folder, 'src'));
writeFileSync(join(folder, 'src/sum.test.js'), "import test from 'node:test';\ntest('sum', () => {});\n");
for await (const event of session.prompt('Does it work?')) {
  if (event.type === 'tool_call_rejected') console.log('refused:', JSON.stringify(event.content));
  if (event.type === 'message_added' && event.message.role !== 'extension') {
    for (const block of event.message.content)
      if (block.type === 'text') console.log(event.message.role, '>', block.text);
  }
  if (event.type === 'run_ended') console.log(event.status);
}
console.log('What was run:', readFileSync(list, 'utf8').trim());
rmSync(folder, { recursive: true });

/* Output:
user > Does it work?
refused: [{"type":"text","text":"Not executed: No network here."}]
assistant > It works, I think.
user > Run the tests first.
assistant > It works, the test has passed.
completed
What was run: cd src && node --test sum.test.js
*/
