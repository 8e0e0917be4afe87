// A job that another process goes on with after a kill. Steps are kept in a file by hand. A tool that was running when the
// process died runs again, and nothing keeps two processes from working on one job.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { openai } from '@ai-sdk/openai';
import { type ModelMessage, tool, ToolLoopAgent } from 'ai';
import { z } from 'zod';

const FILE = 'job.json';
const messages: ModelMessage[] = existsSync(FILE)
  ? JSON.parse(readFileSync(FILE, 'utf8'))
  : [{ role: 'user', content: 'Import all pages of the catalogue.' }];

const save = (all: ModelMessage[]) => {
  writeFileSync(`${FILE}.new`, JSON.stringify(all));
  renameSync(`${FILE}.new`, FILE);
};

const agent = new ToolLoopAgent({
  model: openai('gpt-5'),
  tools: {
    importPage: tool({
      description: 'Imports one page.',
      inputSchema: z.object({ page: z.number() }),
      execute: ({ page }) => `Imported page ${page}.`,
    }),
  },
  onStepEnd: ({ response }) => save([...messages, ...response.messages]),
});

save(messages);
console.log((await agent.generate({ messages })).text);
