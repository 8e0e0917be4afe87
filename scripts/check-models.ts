// Plays the same tasks with every model that there are rules for, at a provider that refuses what its service refuses:
// `npm run check:models -- [NAME…]`. Prints a table of models and capabilities; exits with 1 when a cell failed.
import process from 'node:process';
import { SERVICE_MODELS } from '../packages/models/src/test-support/service/models.ts';
import { playTable } from '../packages/models/src/test-support/service/table.ts';

const wanted = process.argv.slice(2);
const models = SERVICE_MODELS.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
const problems = await playTable(models, (line) => console.log(line));
if (problems.length > 0) process.exitCode = 1;
