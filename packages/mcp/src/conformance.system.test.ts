import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

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
function conformance(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly summary: string; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [COMMAND, ...args], { cwd: folder });
    let output = '';
    const take = (chunk: Uint8Array): void => void (output += Buffer.from(chunk).toString('utf8'));
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output, summary: output.slice(output.indexOf('=== SUITE SUMMARY')) }));
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

/** Starts the server with what the suite calls by name, behind a proxy that adds the token: the suite sends none. */
async function suiteServer(): Promise<string> {
  const token = 'a token of the test';
  const file = join(import.meta.dirname, 'test-support/suite-server-process.ts');
  const child = spawn(process.execPath, ['--conditions=treadle-source', file, token], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { value: url } = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  const { port, pathname } = new URL(String(url));
  const proxy = createServer((incoming, response) => {
    const { method, headers } = incoming;
    const sent = { ...headers, authorization: `Bearer ${token}` };
    const passed = request({ host: '127.0.0.1', port, path: pathname, method, headers: sent }, (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(response);
    });
    passed.on('error', () => response.destroy());
    incoming.pipe(passed);
  });
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${pathname}`;
}

/** What `docs/mcp.md` lists, with the reasons. */
const NOT_PASSED: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': [
    ...['tools-call-elicitation', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums'],
    ...['resources-subscribe', 'resources-unsubscribe', 'tools-call-sampling', 'json-schema-2020-12'],
  ],
  '2026-07-28': [
    ...['basic-sampling', 'basic-list-roots', 'multiple-input-requests', 'capability-check', 'non-tool-request'].map(
      (kind) => `input-required-result-${kind}`,
    ),
    ...['lifecycle', 'capability-negotiation', 'wire-fields', 'request-state-removal', 'mrtr-input'].map(
      (kind) => `tasks-${kind}`,
    ),
    ...['request-headers', 'dispatch-and-envelope', 'required-task-error', 'mrtr-composition'].map(
      (kind) => `tasks-${kind}`,
    ),
    ...['server-stateless', 'json-schema-2020-12', 'http-custom-header-server-validation'],
  ],
};

describe('an agent as a server', () => {
  it('passes the scenarios of the suite, with its tools, resources and prompts, but those that docs/mcp.md lists', async () => {
    const url = await suiteServer();
    const page = await readFile(join(import.meta.dirname, '../../../docs/mcp.md'), 'utf8');
    for (const [revision, names] of Object.entries(NOT_PASSED)) {
      const { output } = await conformance('server', '--url', url, '--requirements', revision);
      const failed = [...output.matchAll(/^✗ ([\w-]+): /gm)].map(([, name = '']) => name);
      expect(output).toContain('✓ tools-call-mixed-content');
      expect({ revision, failed: failed.toSorted() }).toEqual({ revision, failed: names.toSorted() });
      for (const name of names) expect(page).toContain(`\`${name}\``);
    }
  }, 120_000);
});
