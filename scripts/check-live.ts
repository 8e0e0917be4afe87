// Plays the tasks of `npm run check:models` with models at their real services, which costs money:
// `npm run check:live -- [--max-cost DOLLARS] MODEL…`. Keys come from the environment. Prints the same table and what the
// services said, without secrets; exits with 1 when a cell failed.
import process from 'node:process';
import { parseArgs } from 'node:util';
import { liveStage, type Live } from '../packages/models/src/test-support/service/live.ts';
import { SERVICE_MODELS } from '../packages/models/src/test-support/service/models.ts';
import { playTable } from '../packages/models/src/test-support/service/table.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'max-cost': { type: 'string', default: '1' } },
});
const maxCost = Number(values['max-cost']);
const unknown = positionals.find((name) => !SERVICE_MODELS.some((model) => model.name === name));
if (positionals.length === 0 || unknown !== undefined || !(maxCost > 0)) {
  console.error('Usage: npm run check:live -- [--max-cost DOLLARS] MODEL…\n');
  if (unknown !== undefined) console.error(`Nothing is written down about ${unknown}. These can be checked:`);
  for (const { name } of SERVICE_MODELS) console.error(name);
  process.exit(2);
}

const live: Live = { maxCost, spent: 0, errors: [] };
const models = SERVICE_MODELS.filter(({ name }) => positionals.includes(name));
const staged = models.map((model) => ({
  ...model,
  open: (name: string) => liveStage(name, live, { env: process.env }),
}));
const problems = await playTable(staged, (line) => console.log(line));
for (const error of new Set(live.errors)) console.log(error);
console.log(`$${live.spent.toFixed(4)} of $${maxCost} spent`);
if (problems.length > 0) process.exitCode = 1;
