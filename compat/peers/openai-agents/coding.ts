// A coding agent on a folder, with approvals at the terminal. The tools are written by hand.
import { exec } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { promisify } from 'node:util';
import { Agent, MemorySession, run, tool } from '@openai/agents';
import { z } from 'zod';

const root = process.cwd();
const inRoot = (path: string) => {
  const full = resolve(root, path);
  if (!full.startsWith(root + sep)) throw new Error(`${path} is outside of the folder.`);
  return full;
};

const read = tool({
  name: 'read_file',
  description: 'Reads a file.',
  parameters: z.object({ path: z.string() }),
  execute: ({ path }) => readFile(inRoot(path), 'utf8'),
});

const write = tool({
  name: 'write_file',
  description: 'Writes a file.',
  parameters: z.object({ path: z.string(), content: z.string() }),
  needsApproval: true,
  execute: ({ path, content }) => writeFile(inRoot(path), content).then(() => 'Written.'),
});

const bash = tool({
  name: 'bash',
  description: 'Runs a command.',
  parameters: z.object({ command: z.string() }),
  needsApproval: true,
  execute: ({ command }) => promisify(exec)(command, { cwd: root, timeout: 60_000 }),
});

const instructions = 'You work on the code in a folder.';
const agent = new Agent({ name: 'coder', model: 'gpt-5', instructions, tools: [read, write, bash] });
const session = new MemorySession();
const terminal = createInterface(process.stdin, process.stdout);
for (;;) {
  let result = await run(agent, await terminal.question('> '), { session });
  while (result.interruptions.length > 0) {
    for (const question of result.interruptions) {
      const answer = await terminal.question(`${question.name} ${question.arguments}? (y/n) `);
      if (answer === 'y') result.state.approve(question);
      else result.state.reject(question);
    }
    result = await run(agent, result.state, { session });
  }
  console.log(result.finalOutput);
}
