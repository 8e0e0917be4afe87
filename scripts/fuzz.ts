// Plays runs with values from outside that no type allows, and checks what must hold whatever comes:
// `npm run fuzz -- [--seconds 60] [--seed N] [--only TARGET]`. It exits with 1 and prints the case when one breaks.
// The cases are played in a child process, so that one that ends it or blocks it is told of too.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { TARGETS } from './fuzz/targets.ts';
import type { Told } from './fuzz/player.ts';

/** A case that takes longer has blocked the process. Those that wait for a server's silence take some seconds. */
const LONGEST_CASE_MS = 60_000;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' }, only: { type: 'string' } },
});
const seconds = Number(values.seconds);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const names = Object.keys(TARGETS).filter((name) => values.only === undefined || name === values.only);
if (!(seconds > 0) || !Number.isSafeInteger(seed) || names.length === 0) {
  console.error(`Usage: npm run fuzz -- [--seconds N] [--seed N] [--only ${Object.keys(TARGETS).join('|')}]`);
  process.exit(2);
}

console.log(`seed ${seed}, ${seconds} s: ${names.join(', ')}`);
const child = fork(join(import.meta.dirname, 'fuzz/player.ts'), [JSON.stringify({ seconds, seed, names })]);
let current: Extract<Told, { tells: 'case' }> | undefined;
let finished = false;

const blocked = setTimeout(() => {
  console.error(`The case takes longer than ${LONGEST_CASE_MS / 1000} s.`);
  child.kill('SIGKILL');
}, LONGEST_CASE_MS);

child.on('message', (told: Told) => {
  if (told.tells === 'case') {
    current = told;
    blocked.refresh();
  } else {
    finished = true;
    clearTimeout(blocked);
    (told.failed ? console.error : console.log)(told.text);
    process.exitCode = told.failed ? 1 : 0;
  }
});

child.on('exit', (code, signal) => {
  clearTimeout(blocked);
  if (finished) return;
  process.exitCode = 1;
  const again = current && `npm run fuzz -- --only ${current.target} --seed ${current.seed}`;
  console.error(
    `${current?.text ?? ''}\n\nFAILED ${current?.target}: the process ended (${signal ?? code}). Again: ${again}`,
  );
});
