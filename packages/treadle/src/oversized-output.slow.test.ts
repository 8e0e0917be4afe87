// @module-tag slow

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

import { temporaryFolder } from './test-support/harness.ts';

interface Outcome {
  readonly status: string;
  readonly grownMb: number;
  readonly shown: number;
  readonly notice: string;
  readonly whole: number;
  readonly recalled: string;
}

const script = fileURLToPath(new URL('test-support/long-output.ts', import.meta.url));
const HUNDRED_MB = 100 * 2 ** 20;

async function outcomeOf(kind: string): Promise<Outcome> {
  await using folder = await temporaryFolder();
  const args = ['--conditions=treadle-source', '--expose-gc', script, folder.path, kind];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Outcome;
}

/** A model may read 2,000,000 characters of it; what the process holds is far below the hundred it was given. */
const MOST_MB = 40;

it('T4: a tool that streams 100 MB has its middle cut out, all of it kept, and little memory taken', async () => {
  const { status, grownMb, shown, notice, whole, recalled } = await outcomeOf('any');
  expect({ status, whole }).toEqual({ status: 'completed', whole: HUNDRED_MB });
  expect(shown).toBeLessThan(2_001_000);
  expect(notice).toMatch(/^\[… \d+ characters cut out; all 104857600 are kept: read them with recall, handle sha256-/);
  expect(recalled).toMatch(/^\[Characters 52428800 to 52428808 of 104857600\. Go on with offset 52428808\.\]\n.{8}$/s);
  expect(grownMb).toBeLessThan(MOST_MB);
}, 120_000);

it('T4: bash that prints 100 MB has its middle cut out, all of it kept, and little memory taken', async () => {
  const { status, grownMb, shown, notice, whole, recalled } = await outcomeOf('bash');
  expect({ status, whole }).toEqual({ status: 'completed', whole: HUNDRED_MB });
  expect(shown).toBeLessThan(270_000);
  expect(notice).toContain('the whole output is in .treadle/output/bash-');
  expect(recalled).toContain('[Characters 52428800 to 52428808 of ');
  expect(grownMb).toBeLessThan(MOST_MB);
}, 120_000);
