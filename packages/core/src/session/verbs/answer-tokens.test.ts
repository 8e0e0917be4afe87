import { scriptedModel, testClock, type Turn } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createAnswerTokens, createSession, defineAgent, defineTool, memoryJournal, openSession } from '../../index.ts';

const KEY = 'a secret that has more than thirty-two bytes';
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  approval: 'always',
  inputSchema: { type: 'object', properties: { amount: { type: 'number' }, to: { type: 'string' } } },
  execute: () => 'paid',
});
const pick = defineTool({ name: 'pick', description: 'The user picks.', runs: 'client' });
const call = { toolCalls: [{ name: 'pay', arguments: { amount: 5, to: 'Ada' } }] };

async function paused(turn: Turn = call) {
  const journal = memoryJournal();
  const clock = testClock();
  const agent = defineAgent({ model: scriptedModel([turn, 'Done.']), tools: [pay, pick] });
  const session = await createSession(agent, { journal, clock, id: 's' });
  await session.prompt('Go.').result;
  const tokens = createAnswerTokens({ key: KEY, clock });
  const [pending] = session.pending;
  if (!pending) throw new Error('Nothing waits.');
  return { journal, clock, agent, session, tokens, pending, token: await tokens.issue('s', pending) };
}

describe('an answer token', () => {
  it('answers the question it was issued for, in any process that has the key', async () => {
    const { journal, clock, agent, token } = await paused();
    const elsewhere = await openSession(agent, 's', { journal, clock });
    const tokens = createAnswerTokens({ key: new TextEncoder().encode(KEY), clock });
    const run = await tokens.approve(elsewhere, token);
    expect((await run.result).text).toBe('Done.');
  });

  it('says which call it is for, whoever keeps what waits', async () => {
    const { tokens, pending, token } = await paused();
    const { sessionId: id } = await tokens.verify(token);
    expect(await tokens.callOf({ id, pending: [pending] }, token)).toBe(pending);
    for (const waiting of [[], [{ ...pending, arguments: { amount: 6, to: 'Ada' } }]]) {
      await expect(tokens.callOf({ id, pending: waiting }, token)).rejects.toMatchObject({ code: 'conflict' });
    }
  });

  it('gives the result of a client tool', async () => {
    const { session, tokens } = await paused({ toolCalls: [{ name: 'pick' }, { name: 'pick' }] });
    const issued = await Promise.all(session.pending.map((each) => tokens.issue('s', each)));
    await expect(tokens.approve(session, issued[0] ?? '')).rejects.toMatchObject({
      code: 'invalid_token',
    });
    await expect(tokens.addToolOutputs(session, [{ token: issued[0] ?? '', content: 'red' }])).rejects.toMatchObject({
      code: 'results_missing',
    });
    const run = await tokens.addToolOutputs(
      session,
      issued.map((token) => ({ token, content: 'red' })),
    );
    expect((await run.result).status).toBe('completed');
  });

  it('that was tampered with anywhere is refused', async () => {
    const { session, tokens, token } = await paused();
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom('A', 'z', '0', '-', '.', '='), async (at, other) => {
        fc.pre(token[at] !== other);
        const forged = `${token.slice(0, at)}${other}${token.slice(at + 1)}`;
        await expect(tokens.verify(forged, 's')).rejects.toMatchObject({ code: 'invalid_token' });
      }),
      { numRuns: 60 },
    );
    for (const forged of ['', '.', 'x', `${token}.`, `.${token}`, token.split('.')[0] ?? '', `${token}${token}`]) {
      await expect(tokens.approve(session, forged)).rejects.toMatchObject({ code: 'invalid_token' });
    }
    expect(session.pending).toHaveLength(1);
  });

  it('with claims of the client’s own is refused, however well they are written', async () => {
    const { tokens, token } = await paused();
    const [body = '', signature = ''] = token.split('.');
    const claims = JSON.parse(atob(body)) as object;
    const forged = btoa(JSON.stringify({ ...claims, expiresAt: 9e15 })).replace(/=+$/, '');
    await expect(tokens.verify(`${forged}.${signature}`, 's')).rejects.toMatchObject({ code: 'invalid_token' });
  });

  it('of another key is refused', async () => {
    const { session, clock, pending, tokens } = await paused();
    const others = createAnswerTokens({ key: `${KEY}!`, clock });
    const token = await others.issue('s', pending);
    await expect(tokens.approve(session, token)).rejects.toMatchObject({ code: 'invalid_token' });
  });

  it('H4: for another session is refused', async () => {
    const { tokens, token, clock } = await paused();
    const agent = defineAgent({ model: scriptedModel([call]), tools: [pay] });
    const stranger = await createSession(agent, { clock, id: 'stranger' });
    await stranger.prompt('Go.').result;
    await expect(tokens.approve(stranger, token)).rejects.toMatchObject({
      code: 'invalid_token',
      message: expect.stringContaining('another session') as string,
    });
  });

  it('is over after its time, or the call’s own when that is sooner', async () => {
    const { session, clock, tokens, pending } = await paused();
    const brief = createAnswerTokens({ key: KEY, clock, lifetimeMs: 1000 });
    const soon = await tokens.issue('s', { ...pending, expiresAt: clock.now() + 1000 });
    const issued = [await brief.issue('s', pending), soon];
    await clock.advance(999);
    for (const token of issued) expect((await tokens.verify(token, 's')).callId).toBe(pending.callId);
    await clock.advance(1);
    for (const token of issued) {
      await expect(tokens.approve(session, token)).rejects.toMatchObject({ code: 'token_expired' });
    }
  });

  it('H4: that is replayed finds the question answered', async () => {
    const { session, tokens, token } = await paused();
    await (
      await tokens.reject(session, token)
    ).result;
    await expect(tokens.approve(session, token)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is for the arguments it was issued with, whatever the order of their keys', async () => {
    const { session, tokens, pending } = await paused();
    const other = await tokens.issue('s', { ...pending, arguments: { amount: 500, to: 'Ada' } });
    await expect(tokens.approve(session, other)).rejects.toMatchObject({ code: 'conflict' });
    const same = await tokens.issue('s', { ...pending, arguments: { to: 'Ada', amount: 5 } });
    expect((await (await tokens.approve(session, same)).result).status).toBe('completed');
  });

  it('is compared by the platform, which takes the same time wherever signatures differ', async () => {
    const { pending, clock } = await paused();
    const { subtle } = crypto;
    let verified = 0;
    const tokens = createAnswerTokens({
      key: KEY,
      clock,
      crypto: {
        importKey: subtle.importKey.bind(subtle),
        sign: subtle.sign.bind(subtle),
        digest: subtle.digest.bind(subtle),
        verify: (...args) => {
          verified += 1;
          return subtle.verify(...args);
        },
      },
    });
    const token = await tokens.issue('s', pending);
    await tokens.verify(token, 's');
    // Also one that differs in its first character is left to the platform, and to nothing that stops there.
    const forged = token.replace(/\.(.)/, (_, first: string) => `.${first === 'A' ? 'B' : 'A'}`);
    await expect(tokens.verify(forged, 's')).rejects.toMatchObject({ code: 'invalid_token' });
    expect(verified).toBe(2);
  });

  it('needs a key that can’t be guessed', () => {
    expect(() => createAnswerTokens({ key: 'short' })).toThrow(
      expect.objectContaining({ code: 'invalid_definition', message: expect.stringContaining('32 bytes') as string }),
    );
    expect(() => createAnswerTokens({ key: KEY, lifetimeMs: 0 })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }),
    );
  });
});
