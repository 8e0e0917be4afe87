import type { TreadleEvent } from '@treadle/core';
import { scriptedModel, type Turn } from '@treadle/testing';

import { Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { jsonLines, runCli, startCli, temporaryFolder } from '../../test-support/harness.ts';

const database = {
  question: 'Which database?',
  header: 'Database',
  options: [
    { label: 'SQLite', description: 'One file.' },
    { label: 'Postgres', description: 'A server.' },
  ],
};
const wires = { ...database, question: 'Which wires?', header: 'Wires', multiSelect: true };

const asks = (...questions: readonly object[]): Turn => ({
  toolCalls: [{ name: 'ask_user', arguments: { questions: questions as never } }],
});

/** A terminal at which these lines are typed, and then nothing more: it stays open. */
const typing = (...lines: string[]) =>
  Object.assign(
    new Readable({
      read() {
        for (const line of lines.splice(0)) this.push(line);
      },
    }),
    { isTTY: true },
  );

/** A terminal at which these lines are typed and then Ctrl-D. */
const typed = (...lines: readonly string[]) =>
  Object.assign(Readable.from(lines.map((line) => Buffer.from(line))), { isTTY: true });

const terminal = { isTTY: true, env: { NO_COLOR: '1' } } as const;

/** The result of each `ask_user` call that the model was told. */
function answers(model: ReturnType<typeof scriptedModel>): unknown[] {
  const messages = model.requests.at(-1)?.messages ?? [];
  return messages.flatMap((message) => {
    const [block] = message.role === 'tool' ? message.content : [];
    if (block?.type !== 'text') return [];
    return [block.text.startsWith('{') ? (JSON.parse(block.text) as { answers: unknown }).answers : block.text];
  });
}

describe('ask_user at a terminal', () => {
  it('shows the questions one after the other and takes numbers or words', async () => {
    const model = scriptedModel([asks(database, wires), 'Good.']);
    const stdin = typed('2\n1, 2\r\n');
    const { code, stdout } = await runCli(['Set up storage.'], { ...terminal, model, stdin });
    expect(stdout).toContain(
      '[Database] Which database? (1 of 2)\n  1. SQLite · One file.\n  2. Postgres · A server.\n' +
        'Type a number, or an answer of your own.\n> ',
    );
    expect(answers(model)).toEqual([
      [
        { question: 'Which database?', selected: ['Postgres'] },
        { question: 'Which wires?', selected: ['SQLite', 'Postgres'] },
      ],
    ]);
    expect({ code, last: stdout.includes('\nGood.\n') }).toEqual({ code: 0, last: true });
  });

  it('asks again until there is an answer', async () => {
    const model = scriptedModel([asks(database), 'Good.']);
    const stdin = typed('\n', '3\n', '1 2\n', 'a plain file, pl', 'ease\n');
    const { stdout } = await runCli(['Set up storage.'], { ...terminal, model, stdin });
    for (const wrong of ['There are the numbers 1 to 2.', 'Choose one of them.'])
      expect(stdout).toContain(`2. Postgres · A server.\nType a number, or an answer of your own.\n${wrong}\n> `);
    expect(stdout).toContain('• Ask the user · Which database? · a plain file, please');
    expect(answers(model)).toEqual([[{ question: 'Which database?', selected: [], other: 'a plain file, please' }]]);
  });

  it('lets nothing through that moves a cursor', async () => {
    const model = scriptedModel([asks({ ...database, question: '\u001b[2JWhich?' }), 'Good.']);
    const { stdout } = await runCli(['Go.'], { ...terminal, model, stdin: typed('1\n') });
    expect(stdout).toContain('] \\u{1b}[2JWhich?\n');
  });

  it('tells the model that nobody can be asked when the input ends', async () => {
    const model = scriptedModel([asks(database), 'I chose SQLite.']);
    const { code } = await runCli(['Go.'], { ...terminal, model, stdin: typed() });
    expect(answers(model)).toEqual([expect.stringContaining('Nobody can be asked')]);
    expect(code).toBe(0);
  });

  it('ends the run when it is interrupted instead', async () => {
    await using home = await temporaryFolder();
    const model = scriptedModel([asks(database), 'Never said.']);
    const env = { ...terminal.env, TREADLE_HOME: home.path };
    const call = startCli(['Go.'], { ...terminal, env, model, stdin: typing() });
    await call.printed('> ');
    call.signal('SIGINT');
    const { code, stderr } = await call.outcome;
    expect(code).toBe(130);
    expect(stderr).toContain('Interrupted by SIGINT.');
    const again = await runCli(['-c', 'Once more.'], { env, model: scriptedModel(['Fresh.']) });
    expect(again.stdout.split('\n')[0]).toBe('Fresh.');
  });

  it('asks the question that a killed process left open, when the session is continued', async () => {
    await using home = await temporaryFolder();
    const env = { ...terminal.env, TREADLE_HOME: home.path };
    const options = { ...terminal, env };
    const left = startCli(['Go.'], { ...options, model: scriptedModel([asks(database)]), stdin: typing() });
    await left.printed('> ');
    const model = scriptedModel(['SQLite it is.']);
    const { code, stdout } = await runCli(['-c'], { ...options, model, stdin: typed('1\n') });
    expect({ code, said: stdout.includes('SQLite it is.') }).toEqual({ code: 0, said: true });
    expect(answers(model)).toEqual([[{ question: 'Which database?', selected: ['SQLite'] }]]);
  });
});

describe('ask_user without a terminal', () => {
  it('is told that nobody can be asked, and the run goes on', async () => {
    const model = scriptedModel([asks(database), 'I chose SQLite.']);
    const { code, stdout } = await runCli(['Go.', '--output-format', 'events'], { model, stdin: '' });
    const events = jsonLines<TreadleEvent>(stdout);
    expect(events.filter(({ type }) => type === 'run_paused' || type === 'run_ended').map(({ type }) => type)).toEqual([
      'run_paused',
      'run_ended',
    ]);
    expect(answers(model)).toEqual([expect.stringContaining('Nobody can be asked')]);
    expect(code).toBe(0);
  });
});

describe('update_plan', () => {
  it('is shown with every change, to those who name it', async () => {
    const steps = [{ description: 'Find it', completed: true, result: 'in line 3' }, { description: 'Fix it' }];
    const model = scriptedModel([
      { toolCalls: [{ name: 'update_plan', arguments: { goal: 'No bug', steps } }] },
      'Half done.',
    ]);
    const { stdout } = await runCli(['Fix it.', '--tools', 'update_plan'], { model });
    expect(stdout).toContain('  No bug\n  [x] Find it: in line 3\n  [>] Fix it\n');
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['update_plan']);
  });
});

describe('todo', () => {
  it('is shown with every change', async () => {
    const list = (first: string, second: string) => ({
      todos: [
        { content: 'Look', status: first, activeForm: 'Looking' },
        { content: 'Fix', status: second, activeForm: 'Fixing' },
      ],
    });
    const model = scriptedModel([
      { toolCalls: [{ name: 'todo', arguments: list('in_progress', 'pending') }] },
      { toolCalls: [{ name: 'todo', arguments: list('completed', 'in_progress') }] },
      'Half done.',
    ]);
    const { stdout } = await runCli(['Fix it.'], { model });
    expect(stdout.replaceAll(/\d+ ms/g, '1 ms')).toContain(
      '• Todo list · 0 of 2 done · 1 ms\n  [>] Looking\n  [ ] Fix\n• Todo list · 1 of 2 done · 1 ms\n  [x] Look\n  [>] Fixing\n',
    );
  });
});
