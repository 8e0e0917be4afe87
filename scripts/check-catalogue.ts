// Fails when a default model, or one of a documented example, is shut down within 60 days: `npm run check:catalogue`.
// A release compares with today; `--date 2026-11-22` compares with another day, and `--own` with that of the catalogue.
import process from 'node:process';
import { CATALOGUE_DATE } from '@treadle/models/catalogue';
import { retiringExamples } from './catalogue/check.ts';

const { argv } = process;
const at = argv.indexOf('--date');
const today = new Date().toISOString().slice(0, 10);
const date = argv.includes('--own') ? CATALOGUE_DATE : at === -1 ? today : (argv[at + 1] ?? today);
const found = retiringExamples(date);
for (const { file, name, retires } of found) console.error(`${file}: ${name} is shut down on ${retires}.`);
console.log(
  `${date}: ${found.length === 0 ? 'no example and no default is' : `${found.length} places are`} about to be shut down.`,
);
if (found.length > 0) process.exitCode = 1;
