// A coding agent on a folder, with approvals at the terminal.
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import {
  AgentHarness,
  BACKGROUND_CONTEXT,
  createBashTool,
  createEditTool,
  createReadTool,
  createWriteTool,
  MemorySessionRepo,
  NodeExecutionEnv,
} from '@earendil-works/pi-agent-core/node';
import { builtinModels, getBuiltinModel } from '@earendil-works/pi-ai/providers/all';

const context = BACKGROUND_CONTEXT;
const { harness } = await AgentHarness.create(
  {
    session: await new MemorySessionRepo().create({}, context),
    models: builtinModels(),
    model: getBuiltinModel('openai', 'gpt-5'),
    systemPrompt: 'You work on the code in a folder.',
    tools: [createReadTool(), createWriteTool(), createEditTool(), createBashTool()],
    toolContext: { env: new NodeExecutionEnv({ cwd: process.cwd() }) },
  },
  context,
);

const terminal = createInterface(process.stdin, process.stdout);
harness.hooks.on('before_tool', async ({ toolName, args }) => {
  if (toolName === 'read') return undefined;
  const answer = await terminal.question(`${toolName} ${JSON.stringify(args)}? (y/n) `);
  return answer === 'y' ? undefined : { block: { reason: 'The user said no.' } };
});

const lane = await harness.lane('main', context);
for (;;) {
  const result = await lane.prompt(await terminal.question('> '), undefined, context);
  if (!result.ok) throw result.error;
  const last = await lane.findEntry({ type: 'message', order: 'newestFirst' }, context);
  if (last?.type !== 'message' || last.message.role !== 'assistant') continue;
  for (const block of last.message.content) if (block.type === 'text') console.log(block.text);
}
