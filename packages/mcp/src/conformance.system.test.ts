import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const SUITE = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const COMMAND = join(dirname(SUITE), 'dist/index.js');

let folder = '';
let host = '';

// One file: dozens of processes start at the same time, and none should strip types.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'treadle-conformance-'));
  host = join(folder, 'host.mjs');
  const build = await rolldown({
    input: join(import.meta.dirname, 'test-support/conformance-process.ts'),
    platform: 'node',
    resolve: { conditionNames: ['treadle-source', 'node', 'import'] },
    logLevel: 'silent',
  });
  await build.write({ file: host, format: 'esm', codeSplitting: false });
  await build.close();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the suite, and gives its exit code with the lines of its summary. */
function conformance(...args: readonly string[]): Promise<{ readonly code: number | null; readonly summary: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [COMMAND, ...args], { cwd: folder });
    let output = '';
    const take = (chunk: Uint8Array): void => void (output += Buffer.from(chunk).toString('utf8'));
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, summary: output.slice(output.indexOf('=== SUITE SUMMARY')) }));
  });
}

describe('the client', () => {
  it.each(['2025-11-25', '2026-07-28'])(
    'passes every scored scenario of the requirements of %s',
    async (revision) => {
      const command = `${process.execPath} ${host}`;
      const { code, summary } = await conformance(
        'client',
        ...['--command', command, '--requirements', revision, '--timeout', '150000'],
      );
      expect(summary).toContain('✓ tools_call');
      expect({ code, failed: code === 0 ? '' : summary }).toEqual({ code: 0, failed: '' });
    },
    240_000,
  );
});
