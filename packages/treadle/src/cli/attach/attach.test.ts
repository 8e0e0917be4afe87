import { defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { serve } from '@treadle/server';
import { scriptedModel } from '@treadle/testing';

import { PassThrough, Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { runCli, startCli } from '../../test-support/harness.ts';

/** A server with a session whose run waits for a person. */
async function waitingSession() {
  const journal = memoryJournal();
  let paid = 0;
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    execute() {
      paid += 1;
      return 'Paid.';
    },
  });
  const model = scriptedModel([{ text: 'I pay.', toolCalls: [{ name: 'pay' }] }, 'It is paid.', 'You are welcome.']);
  const agent = defineAgent({ model, tools: [pay], permissions: { settings: [{ source: 'session', ask: ['pay'] }] } });
  const serving = await serve({ agents: [agent], journal });
  const token = serving.token ?? '';
  const { createClient } = await import('@treadle/client');
  const session = await createClient({ url: serving.url, token }).createSession();
  const outcome = await session.run('Pay it.');
  expect(outcome.status).toBe('paused');
  return {
    id: session.id,
    session,
    argv: ['attach', session.id, '--server', serving.url],
    env: { TREADLE_TOKEN: token, NO_COLOR: '1' },
    paid: () => paid,
    async [Symbol.asyncDispose]() {
      await serving.close();
    },
  };
}

describe('treadle attach --server', () => {
  it('shows the session, answers for its run, and says the next prompt', async () => {
    await using w = await waitingSession();
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const reader = startCli(w.argv, { env: w.env, stdin, isTTY: 'both' });
    await reader.shown('no, and say why');
    // A line answers a question once it has been there for a moment.
    await new Promise((resolve) => setTimeout(resolve, 400));
    stdin.write('1\n');
    await reader.shown('It is paid.');
    stdin.write('Thank you.\n');
    await reader.shown('You are welcome.');
    stdin.end();
    const { code, screen } = await reader.outcome;
    expect(code).toBe(0);
    expect(w.paid()).toBe(1);
    expect(screen).toMatch(/> Pay it\.\n\nI pay\.\n/);
    expect(screen).toMatch(/allowed by .+\n/);
    // The terminal itself has shown what was typed.
    expect(screen).not.toContain('Thank you.');
    expect(screen).toContain('You are welcome.');
  });

  it('is left with Ctrl-D, which answers nothing', async () => {
    await using w = await waitingSession();
    const stdin = Object.assign(Readable.from([]), { isTTY: true });
    const { code } = await runCli(w.argv, { env: w.env, stdin, isTTY: 'both' });
    expect(code).toBe(0);
    expect((await w.session.read()).status).toBe('paused');
  });

  it('is told that another answer came first', async () => {
    await using w = await waitingSession();
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const reader = startCli(w.argv, { env: w.env, stdin, isTTY: 'both' });
    await reader.shown('no, and say why');
    const { pending } = await w.session.read();
    await w.session.reject(pending[0]?.approvalId ?? '', { message: 'Too much.' });
    await reader.shown('It is paid.');
    stdin.end();
    const { screen } = await reader.outcome;
    expect(screen).toMatch(/refused · by .+: Too much\./);
    expect(w.paid()).toBe(0);
  });
});

describe('treadle attach', () => {
  it.each([
    [['attach'], 'Which session?'],
    [['attach', 'a', 'b'], "'b' is too much"],
    [['attach', 'none'], 'none'],
    [['attach', 'a', '--server', 'http://127.0.0.1:1'], 'Set TREADLE_TOKEN'],
  ])('refuses %j', async (argv, words) => {
    const { code, stderr } = await runCli(argv);
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });

  it('shows what there is up to the end of the run, where nobody is at a terminal', async () => {
    const journal = memoryJournal();
    const parts = {
      journal: async () => ({ ...journal, close: async () => {} }),
      model: async () => scriptedModel(['Hello.']),
    };
    await runCli(['Hi.'], { parts });
    const { sessions } = await journal.list();
    const { code, stdout } = await runCli(['attach', sessions[0]?.sessionId ?? ''], { parts, stdin: '' });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '> Hi.\n\nHello.\n\n' });
  });
});
