// @module-tag slow

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createSession, defineAgent, defineTool } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { withCode } from './index.ts';

const FILE = join(import.meta.dirname, 'test-support/orders-process.ts');

let folder = '';
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'code-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const flags = (dieAt: number): readonly string[] => ['--conditions=treadle-source', FILE, folder, String(dieAt)];

describe('a script whose process is killed ten times', () => {
  it('goes on each time, and repeats none of its calls', { timeout: 120_000 }, async () => {
    const deaths = Array.from({ length: 10 }, (_, at) => 10 + at * 19);
    for (const dieAt of deaths) {
      const [, signal] = (await once(spawn(process.execPath, flags(dieAt), { stdio: 'inherit' }), 'exit')) as [
        number | null,
        string | null,
      ];
      expect(signal).toBe('SIGKILL');
    }
    const { stdout } = await promisify(execFile)(process.execPath, flags(Infinity));
    const { said, charged } = JSON.parse(stdout) as { readonly said: string; readonly charged: readonly number[] };
    // Of the calls that were cut off nobody knows; those that died before their effect have none.
    expect(JSON.parse(said)).toEqual({ charged: 190, unknown: deaths });
    const wanted = Array.from({ length: 200 }, (_, order) => order);
    expect(charged).toEqual(wanted.filter((order) => !deaths.includes(order) || order % 2 === 1));
  });
});

describe('two hundred calls with results of 2 kB', () => {
  const lookUp = defineTool({
    name: 'look_up',
    description: 'Everything about an order.',
    inputSchema: { type: 'object', properties: { order: { type: 'number' } }, required: ['order'] },
    execute: ({ order }) => ({ order, total: order * 2, history: 'x'.repeat(2000) }),
  });

  /** Tokens that the agent's model reads in all of its requests, at four bytes each. */
  async function inputOf(turns: Parameters<typeof scriptedModel>[0]): Promise<number> {
    const model = scriptedModel(turns);
    const session = await createSession(defineAgent(withCode({ model, tools: [lookUp] })));
    expect((await session.prompt('What do all orders come to?').result).status).toBe('completed');
    const bytes = model.requests.map(({ system, tools, messages }) =>
      Buffer.byteLength(JSON.stringify([system, tools, messages.map(({ role, content }) => [role, content])])),
    );
    return bytes.reduce((sum, one) => sum + one, 0) / 4;
  }

  it('cost a model at most a twentieth of what it reads in batches of 20', async () => {
    const batch = (from: number) => ({
      toolCalls: Array.from({ length: 20 }, (_, at) => ({ name: 'look_up', arguments: { order: from + at } })),
    });
    const plain = await inputOf([...Array.from({ length: 10 }, (_, at) => batch(at * 20)), 'It is 39800.']);
    const code =
      'let sum = 0; for (let order = 0; order < 200; order++) sum += (await tools.look_up({ order })).total; return sum;';
    const scripted = await inputOf([{ toolCalls: [{ name: 'run_code', arguments: { code } }] }, 'It is 39800.']);
    // `docs/code-as-tools.md` has these figures.
    expect(scripted).toBeLessThanOrEqual(0.05 * plain);
  });
});
