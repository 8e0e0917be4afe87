// @module-tag slow

// Each program is run as it stands, in a process and a folder of its own. Only the provider of its model is fake.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { isJsonObject } from '@treadle/core/json';
import { fakeProvider, type ProviderRequest } from '@treadle/testing';
import { DefaultChatTransport } from 'ai';
import { describe, expect, it, vi } from 'vitest';

vi.setConfig({ maxConcurrency: 2, testTimeout: 60_000 });

type Script = Parameters<typeof fakeProvider>[0];

/** A program that runs, in a folder of its own that is its current one. */
async function started(name: string, script: Script, options: { readonly args?: readonly string[] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-program-'));
  const provider = await fakeProvider(script);
  const children: ReturnType<typeof spawn>[] = [];
  const start = (args: readonly string[] = options.args ?? [], more: NodeJS.ProcessEnv = {}) => {
    const file = join(import.meta.dirname, name);
    const env = {
      ...process.env,
      ANTHROPIC_BASE_URL: provider.anthropicBaseUrl,
      ANTHROPIC_API_KEY: 'sk-0123456789',
      ...more,
    };
    const child = spawn(process.execPath, ['--conditions=treadle-source', file, ...args], { cwd: folder, env });
    children.push(child);
    let said = '';
    const heard = new Set<() => void>();
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        said += String(chunk);
        for (const look of heard) look();
      });
    }
    const over = once(child, 'close').then(([code]) => ({ code: code as number | null, said }));
    const says = (words: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => void (said.includes(words) && resolve());
        heard.add(look);
        look();
        void over.then(() => reject(new Error(`It ended, and said: ${said}`)));
      });
    return { child, over, says };
  };
  return {
    folder,
    provider,
    start,
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL');
      await provider.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const results = ({ body }: ProviderRequest): number => JSON.stringify(body).split('"tool_result"').length - 1;
const toolNames = ({ body }: ProviderRequest): string => JSON.stringify(isJsonObject(body) ? body['tools'] : []);

describe.concurrent('the program', () => {
  it('support.ts looks the order up, has the refund approved, and comes to a typed answer', async () => {
    await using program = await started('support.ts', [
      { toolCalls: [{ name: 'find_order', arguments: { order: 'A-1' } }] },
      { toolCalls: [{ name: 'refund', arguments: { order: 'A-1', amount: 80 } }] },
      JSON.stringify({ reply: 'You get 80 back.', refunded: 80 }),
    ]);
    expect(await program.start().over).toEqual({ code: 0, said: 'You get 80 back. 80\n' });
    const [, , last] = program.provider.requests;
    expect(JSON.stringify(last?.body)).toContain(String.raw`{\"order\":\"A-1\",\"refunded\":80}`);
  });

  it('coding.ts changes a file when the person at the terminal says y, and not when they say n', async () => {
    await using program = await started('coding.ts', [
      { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'A\n' } }] },
      { toolCalls: [{ name: 'write_file', arguments: { path: 'b.txt', content: 'B\n' } }] },
      'One is written.',
    ]);
    writeFileSync(join(program.folder, 'notes.md'), 'Notes.\n');
    const { child, says, over } = program.start(['Write two files.']);
    await says('"a.txt"');
    child.stdin?.write('y\n');
    await says('"b.txt"');
    child.stdin?.write('n\n');
    const { code, said } = await over;
    expect([code, readdirSync(program.folder)]).toEqual([0, ['a.txt', 'notes.md']]);
    expect(said).toContain('[write_file: done]');
    expect(said).toContain('One is written.');
  });

  it('research.ts lets two agents work, and pays for all of them out of one budget', async () => {
    await using program = await started('research.ts', (request) => {
      if (!toolNames(request).includes('subagent_type')) return 'The moon pulls.';
      const ask = (type: string) => ({
        name: 'agent',
        arguments: { subagent_type: type, prompt: 'Why are there tides?' },
      });
      return results(request) === 0 ? { toolCalls: [ask('reader'), ask('critic')] } : 'The moon pulls, says everybody.';
    });
    const { code, said } = await program.start().over;
    expect([code, said]).toEqual([0, expect.stringMatching(/^The moon pulls, says everybody\. 0\.\d+ 0\.\d+\n$/)]);
    expect(program.provider.requests).toHaveLength(4);
  });

  it('resume.ts is killed in the middle of two calls, and another process goes on with them', async () => {
    const ask = (customer: string) => ({ name: 'send_invoice', arguments: { customer } });
    await using program = await started('resume.ts', (request) =>
      results(request) === 0 ? { toolCalls: [ask('ada'), ask('bob')] } : 'Both are sent.',
    );
    const keys: string[] = [];
    let isUp = false;
    const service = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (key: string) => keys.push(key));
      request.on('end', () => {
        if (isUp) response.end('sent');
        else if (keys.length === 2) first.child.kill('SIGKILL');
      });
    });
    await once(service.listen(0, '127.0.0.1'), 'listening');
    const INVOICES = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const first = program.start([], { INVOICES });
    expect((await first.over).code).toBeNull();
    isUp = true;
    expect(await program.start(['--resume'], { INVOICES }).over).toEqual({ code: 0, said: 'Both are sent.\n' });
    service.close();
    // Each call was made twice, under one key.
    expect(keys.slice(2).toSorted()).toEqual(keys.slice(0, 2).toSorted());
    expect(new Set(keys).size).toBe(2);
  });

  it('chat-route.ts serves its agent to the transport of useChat', async () => {
    await using program = await started('chat-route.ts', ['Hello from the route.']);
    const { says, child } = program.start([], { PORT: '0' });
    let url = '';
    child.stdout?.on('data', (chunk: Buffer) => (url += String(chunk)));
    await says('http://localhost:');
    const transport = new DefaultChatTransport({
      api: `${url.trim()}/api/chat`,
      headers: { authorization: 'Bearer a-token-that-the-page-sends' },
    });
    const chunks = await transport.sendMessages({
      chatId: 'chat',
      trigger: 'submit-message',
      messageId: undefined,
      abortSignal: undefined,
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }],
    });
    let said = '';
    for await (const chunk of chunks) if (chunk.type === 'text-delta') said += chunk.delta;
    expect(said).toBe('Hello from the route.');
  });
});

describe('the programs', { tags: ['share'] }, () => {
  it.each([
    ['support.ts', 25],
    ['coding.ts', 25],
    ['research.ts', 30],
    ['resume.ts', 20],
    ['chat-route.ts', 15],
  ])('%s has at most %i lines, and neither casts nor empty fallbacks', (name, most) => {
    const source = readFileSync(join(import.meta.dirname, name), 'utf8');
    const lines = source.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('//'));
    expect(lines.length).toBeLessThanOrEqual(most);
    expect(lines.join('\n')).not.toMatch(/\bas [A-Z]|\bas const|\?\? ''|\bany\b|@ts-/);
    const packages = [...source.matchAll(/from '([^']+)'/g)].map(([, from]) => from);
    expect(packages.filter((from) => from?.startsWith('.'))).toEqual([]);
  });
});
