// Works in the current folder, and asks at the terminal before it changes something: node coding.ts "Fix the tests."
import { createInterface } from 'node:readline/promises';
import { builtInTools, createSession, defineAgent, model } from 'treadle';

const terminal = createInterface({ input: process.stdin, output: process.stdout });
const agent = defineAgent({
  model: model('anthropic/claude-sonnet-5-5'),
  instructions: 'You are a coding agent. Work in the current folder, and check what you did.',
  tools: builtInTools({ root: process.cwd() }),
  permissions: {
    async canUseTool(tool, input) {
      const said = await terminal.question(`${tool} ${JSON.stringify(input)}\nMay it run? [y/n] `);
      return said === 'y' ? { behavior: 'allow' } : { behavior: 'deny', message: 'The user said no.' };
    },
  },
});
const session = await createSession(agent);
for await (const event of session.prompt(process.argv.slice(2).join(' '))) {
  if (event.type === 'message_delta' && event.kind === 'text') process.stdout.write(event.text);
  if (event.type === 'tool_ended') console.log(`\n[${event.toolName}: ${event.isError ? 'failed' : 'done'}]`);
}
terminal.close();
