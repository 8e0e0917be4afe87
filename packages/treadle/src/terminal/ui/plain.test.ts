import type { TreadleEvent } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';

import { expect, it } from 'vitest';

import type { TerminalSession } from '../session/session.ts';
import type { TerminalHost } from './host.ts';
import { openPlain } from './plain.ts';

/** Lines that a test types, one after the other; each is read before the next is. */
function world({ isCutOff = false, events = (async function* () {})() as AsyncIterable<TreadleEvent> } = {}) {
  const [posted, written, due]: [string[], string[], (() => void)[]] = [[], [], []];
  let time = 0;
  const device = (lines: AsyncIterable<string>) => ({
    write: (text: string) => void written.push(text),
    // Each line comes when the question has been there for a while.
    now: () => (time += 400),
    lines,
    echoes: true,
    after: (_: number, fn: () => void) => void due.push(fn),
  });
  const session: Partial<TerminalSession> = {
    id: 's',
    leftOut: 0,
    events,
    isCutOff: async () => isCutOff,
    post: async ({ type, ...input }: SessionInput) => void posted.push(`${type} ${JSON.stringify(input)}`),
    close: async () => {},
  };
  const host: Partial<TerminalHost> = {
    version: '0',
    model: 'demo',
    folder: '/f',
    self: null,
    mode: () => 'default',
    label: (name) => name,
    commands: () => [],
    ready: Promise.resolve(),
    remember: () => {},
    content: async (text) => [{ type: 'text', text }],
    preview: async () => null,
    about: async () => null,
  };
  return { posted, written, due, device, session: session as TerminalSession, host: host as TerminalHost };
}

it('keeps a line that comes before a question of the opening for the session', async () => {
  const { posted, device, session, host } = world();
  const [opening, asked] = [Promise.withResolvers<TerminalSession>(), Promise.withResolvers<void>()];
  async function* typed(): AsyncGenerator<string> {
    yield 'Count the files.';
    await asked.promise;
    yield 'y';
    await new Promise(() => {});
  }
  const terminal = openPlain(device(typed()), host, opening.promise);
  await new Promise(setImmediate);
  const answer = terminal.ui.ask('May it?');
  asked.resolve();
  expect(await answer).toBe('y');
  opening.resolve(session);
  await expect.poll(() => posted).toHaveLength(1);
  expect(posted[0]).toContain('Count the files.');
});

it('answers a question with nothing when the input is over, and sends what was piped in', async () => {
  const { posted, device, session, host } = world();
  const opening = Promise.withResolvers<TerminalSession>();
  async function* piped(): AsyncGenerator<string> {
    yield 'Count the files.';
  }
  const terminal = openPlain(device(piped()), host, opening.promise);
  await new Promise(setImmediate);
  expect(await terminal.ui.ask('May it?')).toBeNull();
  opening.resolve(session);
  expect(await terminal.left).toBe(0);
  await expect.poll(() => posted).toHaveLength(1);
});

/** What a test hands over one by one; each is taken before the next is. */
function handing<Value>() {
  const { readable, writable } = new TransformStream<Value, Value>();
  const writer = writable.getWriter();
  const give = async (...values: readonly Value[]): Promise<void> => {
    for (const value of values) await writer.write(value);
    await new Promise(setImmediate);
  };
  return { given: readable as AsyncIterable<Value>, give };
}

it('asks for a line where one is awaited, and not while a run goes on', async () => {
  const [events, lines] = [handing<TreadleEvent>(), handing<string>()];
  const { posted, written, device, session, host } = world({ events: events.given });
  let seq = 0;
  const take = (...given: readonly object[]) =>
    events.give(...given.map((one) => ({ seq: (seq += 1), at: 0, ...one }) as never));
  openPlain(device(lines.given), host, Promise.resolve(session));
  await expect.poll(() => written.at(-1)).toBe('> ');
  const isAwaited = (): boolean => written.at(-1) === '> ';

  await lines.give('Count the files.');
  expect(posted).toHaveLength(1);
  written.push('the line');
  const input = { type: 'prompt', messages: [] };
  await take({ type: 'input_received', input });
  expect(isAwaited()).toBe(false);
  await take({ type: 'run_started', config: { provider: 'p', model: 'm' } });
  expect(isAwaited()).toBe(false);
  await lines.give('All of them.');
  expect(posted.at(-1)).toMatch(/^steering .*All of them/);
  expect(isAwaited()).toBe(false);

  const approvalId = 'a';
  const asked = { approvalId, callId: 'c', toolName: 't', arguments: {}, question: 'May it?' };
  await take(
    { type: 'approval_requested', ...asked },
    { type: 'run_paused', pending: [{ type: 'approval', ...asked }] },
  );
  expect(written.at(-1)).toBe('Number: ');
  await lines.give('1');
  written.push('the answer');
  await take({ type: 'input_received', input: { type: 'approval_answer', approvalId, decision: 'approve' } });
  expect(isAwaited()).toBe(false);
  await take({ type: 'approval_answered', approvalId, decision: 'approve' });
  expect(isAwaited()).toBe(false);
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
  await take({ type: 'run_ended', status: 'completed', turns: 1, usage, cost: null });
  expect(isAwaited()).toBe(true);
});

it('asks for a line again when the message was refused', async () => {
  const lines = handing<string>();
  const { written, device, session, host } = world();
  const refusing = { ...session, post: () => Promise.reject(new Error('The disk is full.')) };
  openPlain(device(lines.given), host, Promise.resolve(refusing));
  await expect.poll(() => written.at(-1)).toBe('> ');
  await lines.give('Count the files.');
  expect(written.slice(-2)).toEqual(['The disk is full.\n', '> ']);
});

const STARTED = {
  type: 'run_started',
  seq: 1,
  at: 0,
  config: { provider: 'p', model: 'm' },
} as unknown as TreadleEvent;

it('asks what is to become of a run that broke off, and takes a message for another prompt', async () => {
  const [events, lines] = [handing<TreadleEvent>(), handing<string>()];
  const { posted, written, device, session, host } = world({ isCutOff: true, events: events.given });
  openPlain(device(lines.given), host, Promise.resolve(session));
  await events.give(STARTED);
  expect(written.join('')).toMatch(/An empty line goes on with it; a message begins another one\.\n> $/);
  await lines.give('Something else.');
  expect(posted).toEqual([expect.stringMatching(/^prompt .*Something else/)]);
});

it('interrupts the open run first, once, and nothing where none is open', async () => {
  const events = handing<TreadleEvent>();
  const { posted, device, session, host } = world({ events: events.given });
  const terminal = openPlain(device(handing<string>().given), host, Promise.resolve(session));
  await new Promise(setImmediate);
  expect(terminal.interrupt?.()).toBe(false);
  await events.give(STARTED);
  expect([terminal.interrupt?.(), terminal.interrupt?.()]).toEqual([true, false]);
  await new Promise(setImmediate);
  expect(posted).toEqual([expect.stringMatching(/^cancel /)]);
});

it('says of a session that is driven elsewhere that nobody answers, and takes the next line', async () => {
  const lines = handing<string>();
  const { due, written, device, session, host } = world();
  const attached = { ...host, onSilence: 'Drive it.' };
  openPlain(device(lines.given), attached, Promise.resolve(session));
  await expect.poll(() => written.at(-1)).toBe('> ');
  await lines.give('Is anybody there?');
  for (const fn of due) fn();
  expect(written.slice(-2)).toEqual(['Nothing was heard for a while. Drive it.\n', '> ']);
});

it('answers no call by accident', async () => {
  const [events, lines] = [handing<TreadleEvent>(), handing<string>()];
  const { posted, written, device, session, host } = world({ events: events.given });
  openPlain(device(lines.given), host, Promise.resolve(session));
  const asked = { approvalId: 'a', callId: 'c', toolName: 't', arguments: {}, question: 'May it?' };
  const pending = [{ type: 'approval', ...asked }];
  const requested = { type: 'approval_requested', seq: 2, at: 0, ...asked };
  await events.give(STARTED, requested as never, { type: 'run_paused', seq: 3, at: 0, pending } as never);
  for (const line of ['', 'up', 'down', 'enter', 'x', '7', '12']) await lines.give(line);
  expect(posted).toEqual([]);
  expect(written.join('').match(/Press 1 to 2/g)).toHaveLength(7);
  await lines.give('1');
  expect(posted).toEqual([expect.stringMatching(/^approval_answer .*approve/)]);
});
