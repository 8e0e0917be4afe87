// A job that another process goes on with. The state of a run can be kept while it waits for an approval, so each page asks.
// A run that is killed in between is lost, and nothing keeps two processes from working on one job.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { Agent, run, RunState, tool } from '@openai/agents';
import { z } from 'zod';

const FILE = 'job.json';
const importPage = tool({
  name: 'import_page',
  description: 'Imports one page.',
  parameters: z.object({ page: z.number() }),
  needsApproval: true,
  execute: ({ page }) => `Imported page ${page}.`,
});
const agent = new Agent({ name: 'importer', model: 'gpt-5', tools: [importPage] });

const saved = existsSync(FILE) ? await RunState.fromString(agent, readFileSync(FILE, 'utf8')) : null;
let result = await run(agent, saved ?? 'Import all pages of the catalogue.');
while (result.interruptions.length > 0) {
  for (const question of result.interruptions) result.state.approve(question);
  writeFileSync(FILE, result.state.toString());
  if (process.argv.includes('--pause')) process.exit();
  result = await run(agent, result.state);
}
rmSync(FILE, { force: true });
console.log(result.finalOutput);
