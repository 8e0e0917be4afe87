import { existsSync } from 'node:fs';
import { describe, it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import type { TerminalProcess } from '../../test-support/terminal-process.ts';
import { choose, STATUS, terminalWorld, times, type TerminalWorld } from '../../test-support/terminal-world.ts';

const ESC = '\u001b';
const SHIFT_TAB = '\u001b[Z';
const UP = '\u001b[A';
const held = (text: string, until: Promise<void>) => ({ text, chunkSize: 3, waitAfter: { deltas: 2, until } });
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A terminal attached to a session that was answered once, and whose own terminal was left. */
async function leftBehind(world: TerminalWorld): Promise<TerminalProcess> {
  const terminal = world.open();
  await terminal.shows(STATUS);
  terminal.type('First\r');
  await terminal.shows(/1 turn · /);
  const id = (await world.log()).find((event) => event.type === 'session_created')?.sessionId ?? '';
  const attached = world.open(['attach', id]);
  await attached.shows('One.');
  terminal.type('\u0004');
  await terminal.ended;
  return attached;
}

describe.concurrent('what goes wrong, or takes its time', () => {
  it('begins another run with a message after a crash, and counts no time until then', async ({ expect }) => {
    const never = new Promise<void>(() => {});
    await using world = await terminalWorld([held('A moment.', never), 'Something else.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('First\r');
    await terminal.shows('A mome');
    terminal.kill('SIGKILL');
    await terminal.ended;
    const again = world.open(['-c']);
    expect(await again.shows('a message begins another one')).not.toContain('Esc interrupts');
    again.type('Second\r');
    await again.shows(/Something else\.[^]*1 turn · /);
    const log = await world.log();
    expect(log.flatMap((event) => (event.type === 'run_ended' ? [event.status] : []))).toHaveLength(2);
    expect(log.some((event) => event.type === 'input_received' && event.input.type === 'steering')).toBe(false);
  });

  it('says in an attached terminal that nobody answers, and shows what waits', async ({ expect }) => {
    await using world = await terminalWorld(['One.', 'To the one who waited.', 'Two.']);
    const attached = await leftBehind(world);
    attached.type('Is anybody there?\r');
    await attached.shows('→ sent: Is anybody there?');
    await attached.shows(
      /Nothing was heard for a while\. If nobody drives this\s+session, continue it:\s+treadle -r \w{8}/,
    );
    const again = world.open(['-c']);
    await again.shows(/→ sent: Is anybody there\?[^]*Enter gets its answer/);
    again.type('\r');
    await attached.shows(/> Is anybody there\?[^]*To the one who waited\./);
    expect(await attached.shows(/1 turn · [^]*1 turn · /)).not.toContain('→ sent');
    expect(forbidden(attached.emulator.raw())).toEqual([]);
  });

  it('takes a message back that nobody has answered', async ({ expect }) => {
    await using world = await terminalWorld(['One.', 'Two.']);
    const attached = await leftBehind(world);
    attached.type('Delete the branch\r');
    await attached.shows('→ sent: Delete the branch');
    const again = world.open(['-c']);
    await again.shows('Esc takes it back.');
    again.type(ESC);
    await again.shows(/^> Delete the branch$/m);
    again.type('\u0015Second\r');
    await again.shows(/> Second[^]*Two\./);
    expect(world.provider.requests).toHaveLength(2);
  });

  it('keeps no draft of a first prompt that was sent', async ({ expect }) => {
    await using world = await terminalWorld(['One.', 'Two.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('remove the old');
    await wait(300);
    terminal.type('\rand then');
    await terminal.shows(/One\.[^]*> and then/);
    terminal.type('\u0003\u0004');
    await terminal.ended;
    const again = world.open();
    await again.shows(STATUS);
    await wait(300);
    expect((await again.emulator.lines()).join('\n')).not.toContain('remove the old');
  });

  it('tells the model of plan mode, and nobody else', async ({ expect }) => {
    await using world = await terminalWorld(['A plan.', 'Done.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    // Two presses that are read at once are two.
    terminal.type(SHIFT_TAB + SHIFT_TAB);
    await terminal.shows(/anthropic\/x · plan/);
    terminal.type('Make a plan\r');
    await terminal.shows('A plan.');
    terminal.type(SHIFT_TAB);
    await terminal.shows(/anthropic\/x · default/);
    terminal.type('Do it\r');
    const shown = await terminal.shows(/Done\.[^]*1 turn · [^]*$/);
    expect(shown).not.toContain('switched on plan mode');
    const told = world.provider.requests.map(({ body }) => times(JSON.stringify(body), 'switched on plan mode'));
    expect(told).toEqual([1, 1]);
  });

  it('keeps a message until the session is ready, and gives it back at Esc', async ({ expect }) => {
    await using world = await terminalWorld(['Hello.']);
    await world.put('slow.json', JSON.stringify({ mcpServers: { slow: { command: 'sleep', args: ['600'] } } }));
    const terminal = world.open(['--mcp-config', 'slow.json']);
    await terminal.shows(/> *$/m);
    terminal.type('Hi there\r');
    await terminal.shows('→ waits: Hi there · Esc takes it back');
    terminal.type(ESC);
    await terminal.shows(/^> Hi there$/m);
    terminal.type('\r');
    await terminal.shows(/> Hi there[^]*Hello\.[^]*1 turn · /);
    terminal.type('/mcp\r');
    await terminal.shows(/^slow +starting$/m);
    expect(world.provider.requests).toHaveLength(1);
  });

  it('shows that a conversation is made smaller, and what waits meanwhile', async ({ expect }) => {
    const summary = Promise.withResolvers<void>();
    const long = { text: 'The tide comes in and goes out again. '.repeat(60), usage: null };
    await using world = await terminalWorld([long, long, held('The user asked about tides.', summary.promise), 'On.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    for (const count of [1, 2]) {
      terminal.type(`question ${count}\r`);
      await terminal.shows(new RegExp(`(?:1 turn · [^]*){${count}}`));
    }
    terminal.type('/compact mind the tides\r');
    await terminal.shows(/^\S compacting · Esc interrupts$/m);
    terminal.type('And then?\r');
    await terminal.shows('→ waits: And then?');
    summary.resolve();
    await terminal.shows(/The conversation was made smaller[^]*> And then\?[^]*On\./);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('gives a message back that waits for another session than the one that is shown', async ({ expect }) => {
    const never = new Promise<void>(() => {});
    const long = { text: 'The tide comes in and goes out again. '.repeat(60), usage: null };
    const summary = held('A summary.', never);
    await using world = await terminalWorld([long, long, summary, summary, 'A new one.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    for (const count of [1, 2]) {
      terminal.type(`question ${count}\r`);
      await terminal.shows(new RegExp(`(?:1 turn · [^]*){${count}}`));
    }
    terminal.type('/compact mind the tides\r');
    await terminal.shows(/^\S compacting · Esc interrupts$/m);
    terminal.type('For the old one\r');
    await terminal.shows('→ waits: For the old one');
    // The first Esc is for the message, the second for the compaction.
    terminal.type(ESC);
    await terminal.shows(/^> For the old one$/m);
    terminal.type(ESC);
    expect(times(await terminal.shows('The compaction was interrupted.'), 'The compaction was')).toBe(1);
    terminal.type('\u0015/compact mind the tides\r');
    await terminal.shows(/^\S compacting · Esc interrupts$/m);
    terminal.type('For the old one\r');
    await terminal.shows('→ waits: For the old one');
    terminal.type('/new\r');
    await terminal.shows(/── a new session ──[^]*^> For the old one$/m);
    terminal.type('\u0015For the new one\r');
    await terminal.shows(/> For the new one[^]*A new one\.[^]*1 turn · /);
    expect(JSON.stringify(world.provider.requests.at(-1)?.body)).not.toContain('question 1');
  });

  it('says beside the question that an edit would fail', async ({ expect }) => {
    const edit = { name: 'edit_file', arguments: { path: 'a.js', old_text: 'export', new_text: '// export' } };
    await using world = await terminalWorld([
      { toolCalls: [{ name: 'read_file', arguments: { path: 'a.js' } }] },
      { toolCalls: [edit] },
      'I see.',
    ]);
    await world.put('a.js', 'export const a = 1;\nexport const b = 2;\n');
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await choose(terminal, '1');
    expect(await terminal.shows('I see.')).toContain('allowed by you');
    const frames = terminal.emulator.raw().replaceAll(/\s+/g, ' ');
    expect(frames).toContain('It would fail: old_text occurs 2 times in a.js, at lines 1, 2.');
  });

  it('takes the queue back at Up with a line in the draft, and keeps both', async ({ expect }) => {
    const end = Promise.withResolvers<void>();
    await using world = await terminalWorld([held('A moment.', end.promise), 'Next.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows('A mome');
    terminal.type('later\t');
    await terminal.shows('after this run: later · Up takes it back');
    terminal.type(`and this${UP}`);
    await terminal.shows(/^> later\n {2}and this$/m);
    end.resolve();
    await terminal.shows(/1 turn · /);
    expect(world.provider.requests).toHaveLength(1);
  });

  it('says of a call that was allowed and refused all the same, why', async ({ expect }) => {
    const write = { name: 'write_file', arguments: { path: 'a.md', content: 'hello\n' } };
    await using world = await terminalWorld([{ toolCalls: [write] }, 'Not now.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows('no, and say why');
    terminal.type(SHIFT_TAB + SHIFT_TAB);
    await terminal.shows(/anthropic\/x · plan/);
    await wait(400);
    terminal.type('1');
    expect((await terminal.shows('Not now.')).replaceAll(/\s+/g, ' ')).toContain(
      'allowed by you, but: In plan mode only calls that change nothing are run',
    );
    expect(existsSync(`${world.folder}/a.md`)).toBe(false);
  });

  it('has the answers of the process before as the user’s own', async ({ expect }) => {
    const write = { name: 'write_file', arguments: { path: 'a.md', content: 'hello\n' } };
    await using world = await terminalWorld([{ toolCalls: [write] }, 'Written.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await choose(terminal, '1');
    await terminal.shows('Written.');
    terminal.type('\u0004');
    await terminal.ended;
    expect(await world.open(['-c']).shows('Written.')).toMatch(/allowed\s+by\s+you/);
  });

  it('interrupts the run at the first Ctrl+C where only lines are printed', async ({ expect }) => {
    const never = new Promise<void>(() => {});
    await using world = await terminalWorld([held('A moment.', never), 'And on.']);
    const terminal = world.open(['--plain']);
    await terminal.shows(/^> *$/m);
    terminal.type('Go\r');
    await expect.poll(() => world.provider.requests.length).toBe(1);
    terminal.type('\u0003');
    await terminal.shows(/Ctrl\+C again leaves\.[^]*Interrupted\./);
    terminal.type('And now?\r');
    await terminal.shows('And on.');
    terminal.type('\u0003');
    expect(await terminal.ended).toBe(130);
  });
});
