// A coding agent on a folder, with approvals at the terminal. The tools are written by hand.
import { exec } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { promisify } from 'node:util';
import { openai } from '@ai-sdk/openai';
import { type ModelMessage, tool, ToolLoopAgent, type ToolApprovalResponse } from 'ai';
import { z } from 'zod';

const root = process.cwd();
const inRoot = (path: string) => {
  const full = resolve(root, path);
  if (!full.startsWith(root + sep)) throw new Error(`${path} is outside of the folder.`);
  return full;
};
const agent = new ToolLoopAgent({
  model: openai('gpt-5'),
  instructions: 'You work on the code in a folder.',
  tools: {
    readFile: tool({
      description: 'Reads a file.',
      inputSchema: z.object({ path: z.string() }),
      execute: ({ path }) => readFile(inRoot(path), 'utf8'),
    }),
    writeFile: tool({
      description: 'Writes a file.',
      inputSchema: z.object({ path: z.string(), content: z.string() }),
      execute: ({ path, content }) => writeFile(inRoot(path), content).then(() => 'Written.'),
    }),
    bash: tool({
      description: 'Runs a command.',
      inputSchema: z.object({ command: z.string() }),
      execute: ({ command }) => promisify(exec)(command, { cwd: root, timeout: 60_000 }),
    }),
  },
  toolApproval: { writeFile: 'user-approval', bash: 'user-approval' },
});

const terminal = createInterface(process.stdin, process.stdout);
const messages: ModelMessage[] = [];
for (;;) {
  messages.push({ role: 'user', content: await terminal.question('> ') });
  for (;;) {
    const result = await agent.generate({ messages });
    messages.push(...result.finalStep.response.messages);
    const content: ToolApprovalResponse[] = [];
    for (const part of result.content) {
      if (part.type !== 'tool-approval-request') continue;
      const answer = await terminal.question(
        `${part.toolCall.toolName} ${JSON.stringify(part.toolCall.input)}? (y/n) `,
      );
      content.push({ type: 'tool-approval-response', approvalId: part.approvalId, approved: answer === 'y' });
    }
    if (content.length === 0) {
      console.log(result.text);
      break;
    }
    messages.push({ role: 'tool', content });
  }
}
