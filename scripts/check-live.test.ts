import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import type { FakeProvider, ProviderRequest, ProviderTurn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { CELLS, strictProvider } from '../packages/models/src/test-support/service/cells.ts';
import { SERVICE_MODELS, type ServiceModel } from '../packages/models/src/test-support/service/models.ts';

const KEY = 'sk-a-secret-that-nobody-may-see';
const root = join(import.meta.dirname, '..');

async function check(provider: FakeProvider | undefined, ...args: readonly string[]) {
  const env = { ...process.env, OPENAI_API_KEY: KEY, OPENAI_BASE_URL: provider?.openaiBaseUrl ?? '' };
  const argv = ['--conditions=treadle-source', 'scripts/check-live.ts', ...args];
  return promisify(execFile)(process.execPath, argv, { cwd: root, env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: unknown) => error as { readonly code: number; readonly stdout: string; readonly stderr: string },
  );
}

const serviceOf = (name: string): ServiceModel => {
  const found = SERVICE_MODELS.find((model) => model.name === name);
  if (found === undefined) throw new Error(`No service model is called ${name}.`);
  return found;
};

/** A model that does what it is asked to, as far as the tasks go. */
function obeys() {
  let steps = 0;
  return ({ rawBody }: ProviderRequest): ProviderTurn => {
    const results = rawBody.split(/"function_call_output"|"role":"tool"/).length - 1;
    const call = (...names: readonly string[]): ProviderTurn => ({ toolCalls: names.map((name) => ({ name })), usage });
    const usage = { input: Math.ceil(rawBody.length / 4), output: 20 };
    const city = { text: '{"city":"Oslo"}', usage };
    if (rawBody.includes('"tool_choice":"none"')) return { text: 'Some steps were done.', usage };
    if (rawBody.includes('50 times')) return steps++ < 50 ? call('look') : { text: 'Done.', usage };
    if (rawBody.includes('in one reply') && results === 0) return call('look', 'count');
    if (rawBody.includes('When you have its result') && results < 2) return call(results === 0 ? 'look' : 'count');
    if (rawBody.includes('Then reply with')) return results === 0 ? call('look') : city;
    if (rawBody.includes('answer with the city')) return city;
    return { text: 'Done.', usage };
  };
}

describe('npm run check:live', () => {
  it('plays every task with a model, and says what it cost', async () => {
    await using provider = await strictProvider(serviceOf('openai/gpt-6-luna'), obeys());
    const { code, stdout } = await check(provider, 'openai/gpt-6-luna');
    expect(stdout).toContain(`1 models, ${Object.keys(CELLS).length} cells, 0 failed`);
    expect(stdout).toMatch(/\$0\.\d{4} of \$1 spent\n$/);
    expect(stdout).not.toContain('$0.0000');
    expect(code).toBe(0);
  });

  it('shows what the service said of a failure, and no secret', async () => {
    await using provider = await strictProvider(serviceOf('openai/gpt-6-luna'), () => ({
      error: { status: 400, message: `The key ${KEY} may not do this.` },
    }));
    const { code, stdout, stderr } = await check(provider, 'openai/gpt-6-luna');
    expect(code).toBe(1);
    expect(stdout).toMatch(/gpt-6-luna: 400: .*may not do this/);
    expect(stdout + stderr).not.toContain(KEY);
  });

  it('sends nothing that the rest of the money may not pay for', async () => {
    await using provider = await strictProvider(serviceOf('openai/gpt-6-luna'), obeys());
    const few = await check(provider, '--max-cost', '0.0001', 'openai/gpt-6-luna');
    expect(few.code).toBe(1);
    expect(few.stdout).toContain('The cost limit of $0.0001 is reached.');
    expect(few.stdout).toContain('$0.0000 of $0.0001 spent');
    expect(provider.requests).toEqual([]);
  });

  it.each([[[]], [['openai/nobody-knows']], [['--max-cost', 'much', 'openai/gpt-6-luna']]])(
    'says how it is called for %j',
    async (args) => {
      const { code, stderr } = await check(undefined, ...args);
      expect(code).toBe(2);
      expect(stderr).toContain('npm run check:live -- [--max-cost DOLLARS] MODEL');
    },
  );
});
