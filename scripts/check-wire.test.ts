import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('check-wire.ts', import.meta.url));

interface Run {
  readonly code: number;
  readonly output: string;
}

const check = (...args: readonly string[]): Promise<Run> =>
  new Promise((resolve) => {
    execFile(process.execPath, ['--conditions=treadle-source', SCRIPT, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, output: stdout + stderr });
    });
  });

const STREAM = [
  { type: 'message_start', message: { id: 'm', usage: { input_tokens: 3 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'größer' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } } },
  { type: 'content_block_stop', index: 2 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
];

const EXPECTED = {
  text: 'größer',
  reasoning: 'Hm',
  reasoningOpaque: [{ kind: 'signature', len: 4 }],
  toolCalls: [{ id: 't', name: 'f', args: { a: 1 } }],
  serverTools: [],
  finish: 'tool_use',
  usage: { input_tokens: 3, output_tokens: 4 },
  error: null,
};

/** A folder of recordings: one stream, and rows that expect something of it. */
async function recordings(
  rows: readonly { wire?: string; expected?: object }[],
): Promise<{ readonly folder: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'treadle-wire-'));
  await mkdir(join(folder, 'a'));
  const file = 'a/stream.sse';
  await writeFile(join(folder, file), STREAM.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  const list = rows.map(({ wire = 'anthropic-messages', expected = {} }) => ({
    file,
    wire,
    contentType: 'text/event-stream',
    expected: { ...EXPECTED, ...expected },
  }));
  await writeFile(join(folder, 'expected.json'), JSON.stringify(list));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe('a recording', () => {
  it('that is read as expected passes', async () => {
    await using recorded = await recordings([{}]);
    expect(await check(recorded.folder)).toEqual({ code: 0, output: 'anthropic-messages: 1 passed, 0 failed\n' });
  });

  it('that is read otherwise fails, in every chunking, and says what differs', async () => {
    const differences = {
      text: { text: 'grosser' },
      reasoning: { reasoning: '' },
      'opaque reasoning': { reasoningOpaque: [{ kind: 'signature', len: 5 }] },
      'tool calls': { toolCalls: [{ id: 't', name: 'f', args: { a: 2 } }] },
      'server tools': { serverTools: [{ id: 's', name: 'w', args: {} }] },
      finish: { finish: 'end_turn' },
      usage: { usage: { input_tokens: 3 } },
      error: { error: { message: 'No.' } },
    };
    await using recorded = await recordings([{}, ...Object.values(differences).map((expected) => ({ expected }))]);
    const { code, output } = await check(recorded.folder);
    expect(code).toBe(1);
    expect(output.match(/^FAILED anthropic-messages a\/stream\.sse$/gm)).toHaveLength(8);
    for (const what of Object.keys(differences)) {
      for (const chunking of ['whole', 'one byte', 'random']) {
        expect(output.match(new RegExp(`${chunking}: ${what}$`, 'gm'))).toHaveLength(1);
      }
    }
    expect(output).toContain('anthropic-messages: 1 passed, 8 failed');
  });

  it('of a wire without a protocol is named as not covered', async () => {
    await using recorded = await recordings([{}, { wire: 'telepathy' }]);
    const { code, output } = await check(recorded.folder);
    expect(code).toBe(0);
    expect(output).toContain('telepathy: 1 not covered');
    expect((await check(recorded.folder, 'telepathy')).code).toBe(1);
  });

  it('is chosen by its wire', async () => {
    await using recorded = await recordings([{}, { wire: 'openai-chat' }]);
    expect(await check(recorded.folder, 'anthropic-messages')).toMatchObject({ code: 0 });
    expect(await check(recorded.folder, 'openai-chat')).toMatchObject({ code: 1 });
  });
});

describe('a folder without a list', () => {
  it('is refused with the usage', async () => {
    expect(await check(tmpdir())).toMatchObject({ code: 2 });
    expect((await check()).output).toContain('Usage');
  });
});
