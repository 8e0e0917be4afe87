import { logOf, scriptedModel, testClock } from '@treadle/testing';
import { describe, expect, it, vi } from 'vitest';

import {
  asTool,
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type Journal,
  type SessionOptions,
} from '../../index.ts';

const MINUTE = 60_000;

const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'paid' });
const pick = defineTool({ name: 'pick', description: 'The user picks.', runs: 'client', timeoutMs: MINUTE });

function world(tool: 'pay' | 'pick' = 'pay') {
  const [journal, clock] = [memoryJournal(), testClock()];
  const model = scriptedModel([{ toolCalls: [{ name: tool }] }, 'So be it.', 'More.']);
  const agent = defineAgent({ model, tools: [pay, pick], permissions: { answerTimeoutMs: MINUTE } });
  const open = (options: SessionOptions = {}) => openSession(agent, 's', { journal, clock, ...options });
  return { journal, clock, agent, model, open };
}

async function paused(parts: ReturnType<typeof world>, options: SessionOptions = {}) {
  const { agent, journal, clock } = parts;
  const session = await createSession(agent, { id: 's', journal, clock, ...options });
  expect(await session.prompt('Go.').outcome).toBe('paused');
  return session;
}

/** What the log says of how it went on. */
async function story(journal: Journal, id = 's'): Promise<string[]> {
  return (await logOf(journal, id)).flatMap((event) => {
    if (event.type === 'tool_call_rejected') return [event.reason];
    if (event.type === 'run_paused' || event.type === 'tool_ended') return [event.type];
    return event.type === 'run_ended' ? [event.status] : [];
  });
}

describe('a question that nobody answers in time', () => {
  it.each(['pay', 'pick'] as const)(
    'lets its run go on at its time, in the process that has it open: %s',
    async (tool) => {
      const parts = world(tool);
      const session = await paused(parts);
      const heard: string[] = [];
      session.subscribe(({ type }) => heard.push(type));
      await parts.clock.advance(MINUTE - 1);
      await session.idle();
      expect(session.activeRun).toBeNull();
      expect(await story(parts.journal)).toEqual(['run_paused']);
      await parts.clock.advance(1);
      await vi.waitFor(() => expect(heard).toContain('run_ended'), { timeout: 15_000 });
      await session.idle();
      expect(await story(parts.journal)).toEqual(['run_paused', 'expired', 'completed']);
      expect(session.pending).toEqual([]);
      expect(JSON.stringify(parts.model.requests.at(-1)?.messages)).toMatch(
        /Nobody answered in time|No result came in time/,
      );
    },
  );

  it('is seen to by the next process that opens its session, when there was none', async () => {
    const parts = world();
    const { clock, journal } = parts;
    await (await paused(parts)).close();
    await clock.advance(10 * MINUTE);
    expect(await story(journal)).toEqual(['run_paused']);
    const session = await parts.open();
    await clock.advance(0);
    await vi.waitFor(async () => expect(await story(journal)).toEqual(['run_paused', 'expired', 'completed']), {
      timeout: 15_000,
    });
    await session.idle();
  });

  it('is decided once when several processes have the session open', async () => {
    const parts = world();
    const sessions = [await paused(parts), await parts.open(), await parts.open()];
    await parts.clock.advance(MINUTE);
    await vi.waitFor(async () => expect(await story(parts.journal)).toContain('completed'), { timeout: 15_000 });
    await parts.clock.advance(MINUTE);
    for (const session of sessions) await session.idle();
    expect(await story(parts.journal)).toEqual(['run_paused', 'expired', 'completed']);
    expect(parts.model.requests).toHaveLength(2);
  });

  it('is tried again while another process holds the session', async () => {
    const parts = world();
    const { clock, journal } = parts;
    const session = await paused(parts);
    const claim = await journal.claim('s', { id: 'other', label: 'another process' });
    await clock.advance(MINUTE);
    await session.idle();
    expect(await story(journal)).toEqual(['run_paused']);
    await claim.release();
    await vi.waitFor(
      async () => {
        await clock.advance(1000);
        expect(await story(journal)).toContain('completed');
      },
      { timeout: 15_000 },
    );
    await session.idle();
  });
});

describe('nothing goes on by itself', () => {
  it('when the question was answered, here or elsewhere', async () => {
    const parts = world();
    const session = await paused(parts);
    const other = await parts.open();
    const approvalId = session.pending[0]?.approvalId ?? '';
    expect(await other.approve(approvalId).outcome).toBe('completed');
    const before = (await logOf(parts.journal, 's')).length;
    await parts.clock.advance(MINUTE);
    await session.refresh();
    expect(session.status).toBe('idle');
    expect(await logOf(parts.journal, 's')).toHaveLength(before);
    expect(await story(parts.journal)).toEqual(['run_paused', 'tool_ended', 'completed']);
  });

  it('after the session was closed here, or where somebody else sees to it', async () => {
    for (const options of [{}, { resumeOnExpiry: false }]) {
      const parts = world();
      const session = await paused(parts, options);
      if (options.resumeOnExpiry !== false) await session.close();
      await parts.clock.advance(MINUTE);
      await session.idle();
      expect(await story(parts.journal)).toEqual(['run_paused']);
      expect(session.canResume).toBe(true);
      const again = await openSession(session.agent, 's', { journal: parts.journal, clock: parts.clock });
      expect(await again.resume().outcome).toBe('completed');
    }
  });

  it('without an end to the question', async () => {
    const [journal, clock] = [memoryJournal(), testClock()];
    const agent = defineAgent({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }]), tools: [pay] });
    const session = await createSession(agent, { id: 's', journal, clock });
    await session.prompt('Go.').outcome;
    await clock.advance(1000 * MINUTE);
    await session.idle();
    expect(await story(journal)).toEqual(['run_paused']);
  });
});

describe('what a sub-agent asks', () => {
  it('and nobody answers in time lets it go on, and the one above it', async () => {
    const [journal, clock] = [memoryJournal(), testClock()];
    const helper = defineAgent({
      id: 'helper',
      model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'I could not.']),
      tools: [pay],
      permissions: { answerTimeoutMs: MINUTE },
    });
    const tools = [asTool(helper, { name: 'helper', description: 'Helps.' })];
    const model = scriptedModel([{ toolCalls: [{ name: 'helper', arguments: { prompt: 'Pay.' } }] }, 'It could not.']);
    const agent = defineAgent({ model, tools });
    const first = await createSession(agent, { id: 's', journal, clock });
    expect(await first.prompt('Go.').outcome).toBe('paused');
    await first.close();

    const session = await openSession(agent, 's', { journal, clock });
    expect(session.canResume).toBe(false);
    await clock.advance(MINUTE);
    await vi.waitFor(async () => expect(await story(journal)).toContain('completed'), { timeout: 15_000 });
    await session.idle();
    const child = session.messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
    expect(JSON.stringify(child)).toContain('I could not.');
  });

  it('in the background ends too, and its task with it', async () => {
    const [journal, clock] = [memoryJournal(), testClock()];
    const helper = defineAgent({
      id: 'helper',
      model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'I could not.']),
      tools: [pay],
      permissions: { answerTimeoutMs: MINUTE },
    });
    const call = { name: 'helper', arguments: { prompt: 'Pay.', run_in_background: true } };
    const agent = defineAgent({
      model: scriptedModel([{ toolCalls: [call] }, 'It is at it.', 'It could not.', 'So be it.']),
      tools: [asTool(helper, { name: 'helper', description: 'Helps.' })],
      background: { tools: ['helper'], whenAsked: 'wait' },
    });
    const session = await createSession(agent, { id: 's', journal, clock });
    void session.prompt('Go.').outcome.catch(() => {});
    await vi.waitFor(() => expect(session.pending).toMatchObject([{ toolName: 'pay' }]), { timeout: 15_000 });
    await clock.advance(MINUTE);
    await vi.waitFor(() => expect(session.pending).toEqual([]), { timeout: 15_000 });
    const ended = () => logOf(journal, 's').then((log) => log.filter(({ type }) => type === 'input_received'));
    await vi.waitFor(async () => expect(JSON.stringify(await ended())).toContain('I could not.'), { timeout: 15_000 });
    await session.close();
  });
});

it('a session that another process holds is asked for once a second at most', async () => {
  const parts = world();
  const { agent, journal, clock } = parts;
  await (await paused(parts)).close();
  await journal.claim('s', { id: 'other', label: 'another process' });
  let claims = 0;
  const counting: Journal = {
    ...journal,
    claim: (...args) => {
      claims += 1;
      return journal.claim(...args);
    },
  };
  const session = await openSession(agent, 's', { journal: counting, clock });
  for (let second = 1; second <= 70; second += 1) {
    await clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
    await session.idle();
  }
  expect(claims).toBeGreaterThan(0);
  expect(claims).toBeLessThanOrEqual(11);
  await session.close();
});
