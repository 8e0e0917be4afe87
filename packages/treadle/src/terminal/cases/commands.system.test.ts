import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import { choose, STATUS, terminalWorld, times, type TerminalWorld } from '../../test-support/terminal-world.ts';

const UP = '\u001b[A';
const DOWN = '\u001b[B';
const ESC = '\u001b';
/** Keys are for a question once it has been there for a moment. */
const seen = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 400));
const long = (words: string) => ({
  text: `${words} ${'The tide comes in and goes out again. '.repeat(60)}`,
  usage: null,
});

/** A model that asks for a database, in a reply that is held in its middle. */
function askingWorld(until: Promise<void>): Promise<TerminalWorld> {
  const options = ['SQLite', 'Postgres'].map((label) => ({ label, description: `It is ${label}.` }));
  const questions = [{ question: 'Which database?', header: 'Database', options }];
  const asks = { name: 'ask_user', arguments: { questions } };
  return terminalWorld([
    { text: 'A moment.', chunkSize: 3, waitAfter: { deltas: 2, until }, toolCalls: [asks] },
    'Done.',
  ]);
}

describe.concurrent('commands and questions', () => {
  it('makes a short conversation smaller when it is told what matters, and goes on', async ({ expect }) => {
    await using world = await terminalWorld([
      long('One.'),
      long('Two.'),
      long('Three.'),
      'The user asked about tides.',
      'And on.',
    ]);
    const terminal = world.open();
    await terminal.shows(STATUS);
    for (const [index, text] of ['first', 'second', 'third'].entries()) {
      terminal.type(`${text}\r`);
      await terminal.shows(new RegExp(`(?:1 turn · [^]*){${index + 1}}`));
    }
    terminal.type('/compact mind the tides\r');
    await terminal.shows(/The conversation was made smaller: [\d,]+ → [\d,]+ tokens/);
    expect(JSON.stringify(world.provider.requests[3]?.body)).toContain('mind the tides');
    terminal.type('And now?\r');
    await terminal.shows('And on.');
    expect(JSON.stringify(world.provider.requests[4]?.body)).toContain('The user asked about tides.');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('has a question of the model answered from a list, with words of one’s own, or not at all', async ({ expect }) => {
    const options = [
      { label: 'SQLite', description: 'One file.' },
      { label: 'Postgres', description: 'A server.' },
    ];
    const questions = [{ question: 'Which database?', header: 'Database', options }];
    const asks = { toolCalls: [{ name: 'ask_user', arguments: { questions } }] };
    await using world = await terminalWorld([asks, 'First.', asks, 'Second.', asks, 'Third.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Set it up\r');
    await terminal.shows(/Which database\?\n❯ 1 {2}SQLite {2}One file\.\n {2}2 {2}Postgres {2}A server\./);
    await seen();
    terminal.type('2');
    await terminal.shows(/• Ask the user · Which database\? · Postgres[^]*First\./);
    terminal.type('Again\r');
    await terminal.shows(/First\.[^]*❯ 1 {2}SQLite/);
    await seen();
    // A field that the user has opened takes keys at once.
    terminal.type('3');
    await terminal.shows(/Which database\?\n>$/m);
    terminal.type('a plain file\r');
    await terminal.shows(/• Ask the user · Which database\? · a plain file[^]*Second\./);
    terminal.type('Once more\r');
    await terminal.shows(/Second\.[^]*❯ 1 {2}SQLite/);
    await seen();
    terminal.type(ESC);
    await terminal.shows('Third.');
    const said = world.provider.requests.map(({ body }) => JSON.stringify(body));
    expect([said[1]?.includes('Postgres'), said[3]?.includes('a plain file')]).toEqual([true, true]);
    expect(said[5]).toContain('The user closed the question without an answer.');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('keeps what is typed when a question comes, and takes no key of it for an answer', async ({ expect }) => {
    const held = Promise.withResolvers<void>();
    await using world = await askingWorld(held.promise);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Set it up\r');
    await terminal.shows('A mome');
    terminal.type('I am in');
    held.resolve();
    // The user goes on typing as the list appears: these keys belong to the sentence, and its Enter answers nothing.
    await terminal.shows('❯ 1  SQLite');
    terminal.type(' the middle of a sentence\r');
    await terminal.shows('This goes to your draft.');
    await seen();
    // Words that match nothing are an answer of one's own.
    terminal.type('xyz');
    await terminal.shows('Enter answers with these words');
    terminal.type('\r');
    await terminal.shows(/Which database\? · xyz[^]*Done\.[^]*^> I am in the middle of a sentence$/m);
    const answers = JSON.stringify(world.provider.requests[1]?.body);
    expect([answers.includes('in the middle'), answers.includes('Nobody')]).toEqual([false, false]);
  });

  it('shows a list of the user’s to its end before the model’s question', async ({ expect }) => {
    const held = Promise.withResolvers<void>();
    await using world = await askingWorld(held.promise);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Set it up\r');
    await terminal.shows('A mome');
    terminal.type('/theme\r');
    await terminal.shows(/Theme\n❯ dark/);
    held.resolve();
    await expect.poll(async () => (await world.log()).some(({ type }) => type === 'run_paused')).toBe(true);
    terminal.type(DOWN);
    await terminal.shows('❯ light');
    terminal.type('\r');
    await terminal.shows('Theme: light.');
    await terminal.shows('❯ 1  SQLite');
  });

  it('keeps nothing of a key that is typed or pasted for /login', async ({ expect }) => {
    await using world = await terminalWorld(['Hello.']);
    const terminal = world.open([], { env: { EDITOR: 'cat' } });
    await terminal.shows(STATUS);
    terminal.type('Hi\r');
    await terminal.shows(/1 turn · /);
    terminal.type('/login openai\r');
    await terminal.shows('The key of openai');
    terminal.type('\u001b[200~sk-of-openai-012345\u001b[201~');
    await terminal.shows('•••••');
    // Neither an editor nor another key of the draft's shows it.
    terminal.type('\u0007\u0018\u0016');
    terminal.type('\r');
    await terminal.shows('Kept, for the next start.');
    // Such a line may hold a key, and is kept nowhere.
    terminal.type(' /Login openai sk-777777\r');
    await terminal.shows('There is no command /Login.');
    // Undo and the text that was cut last.
    terminal.type('\u001f\u0019draft');
    await terminal.shows(/^> .*draft$/m);
    terminal.type('\u0004\u0003\u0003\u0003');
    await terminal.ended;
    expect(terminal.emulator.raw()).not.toContain('012345');
    const home = join(world.home, '.treadle');
    for (const path of await readdir(home, { recursive: true })) {
      const text = await readFile(join(home, path), 'latin1').catch(() => '');
      expect(/012345|777777/.test(text), path).toBe(false);
    }
  });

  it('takes the queue back into the draft, and not into a reason', async ({ expect }) => {
    const write = { name: 'write_file', arguments: { path: 'a.md', content: 'hello\n' } };
    const held = Promise.withResolvers<void>();
    await using world = await terminalWorld([
      { text: 'A moment.', chunkSize: 3, waitAfter: { deltas: 2, until: held.promise }, toolCalls: [write] },
      'As you like.',
      'Next.',
    ]);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows('A mome');
    terminal.type('do this next\t');
    await terminal.shows('after this run: do this next');
    held.resolve();
    await choose(terminal, '4');
    await terminal.shows('No, because:');
    terminal.type(`${UP}not now\r`);
    await terminal.shows(/refused[^]*by you: not now/);
    await terminal.shows('Next.');
    expect(JSON.stringify(world.provider.requests[2]?.body)).toContain('do this next');
  });

  it('tells what a command of the user’s has put out to its own session only, and names the session after the prompt', async ({
    expect,
  }) => {
    await using world = await terminalWorld(['One.', 'Two.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('!echo of the first\r');
    await terminal.shows(/^ {2}of the first$/m);
    terminal.type('What is this?\r');
    await terminal.shows(/1 turn · /);
    terminal.type('!echo left behind\r');
    await terminal.shows(/^ {2}left behind$/m);
    terminal.type('/new\r');
    await terminal.shows('── a new session ──');
    terminal.type('A new topic\r');
    await terminal.shows('Two.');
    const said = world.provider.requests.map(({ body }) => JSON.stringify(body));
    expect([said[0]?.includes('of the first'), said[1]?.includes('left behind')]).toEqual([true, false]);
    terminal.type('/resume\r');
    await terminal.shows(/❯ A new topic .*\n {2}What is this\? /);
  });

  it('keeps what a command has put out when it is interrupted', async ({ expect }) => {
    const command = 'for i in 1 2 3 4 5 6 7 8 9; do echo "step $i"; done; sleep 60';
    await using world = await terminalWorld([{ toolCalls: [{ name: 'bash', arguments: { command } }] }, 'I see.']);
    const terminal = world.open(['--allow', 'bash']);
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows('step 9');
    terminal.type(ESC);
    await terminal.shows(/step 9\n[^]*Interrupted\./);
    terminal.type('What came?\r');
    await terminal.shows('I see.');
    expect(JSON.stringify(world.provider.requests[1]?.body)).toContain(String.raw`step 1\nstep 2`);
  });

  it('writes the transcript to a file that was not there, and renames the session', async ({ expect }) => {
    await using world = await terminalWorld(['A reply.', 'Another.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('/export\r');
    await terminal.shows('There is nothing to export yet.');
    terminal.type('A question\r');
    await terminal.shows(/1 turn · /);
    terminal.type('/export out.md\r');
    await terminal.shows('The transcript is in out.md.');
    expect(await world.read('out.md')).toMatch(/A question[^]*A reply\./);
    terminal.type('/export out.md\r');
    await terminal.shows('out.md is there already.');
    terminal.type('/name About tides\r');
    await terminal.shows(/default .*· About tides/);
    terminal.type('/status\r');
    await terminal.shows(/^session +\w{8} · About tides$/m);
    terminal.type('/nwe\r');
    await terminal.shows('There is no command /nwe. Did you mean /new?');
    terminal.type('/clear\r');
    await terminal.shows('── a new session ──');
    terminal.type('Something else\r');
    await terminal.shows('Another.');
    terminal.type('/resume\r');
    await terminal.shows(/❯ Something else .*this one.*\n {2}About tides/);
    terminal.type('tides\r');
    const shown = await terminal.shows(/── session \w{8} ──\n\n> A question/);
    expect(times(shown, '> A question')).toBe(2);
    terminal.type('exit\r');
    expect(await terminal.ended).toBe(0);
    expect((await terminal.emulator.lines()).join('\n')).toMatch(
      /Session (\w+) is kept: treadle -r \1 goes on with it\.$/,
    );
    const again = world.open(['-r', '--no-mcp']);
    await again.shows(/Sessions of this folder\n❯ Something else .*\n {2}About tides/);
    again.type(`${DOWN}\r`);
    await again.shows(/> A question[^]*A reply\./);
  });

  it('changes the model without showing the conversation again, and the status line says so', async ({ expect }) => {
    await using world = await terminalWorld(['A reply.', 'From the other.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('A question\r');
    await terminal.shows(/1 turn · /);
    terminal.type('/model no such thing\r');
    await terminal.shows('No model here is called no such thing.');
    terminal.type('/model anthropic/other\r');
    await terminal.shows(/^anthropic\/other · default/m);
    terminal.type('And now?\r');
    const shown = await terminal.shows('From the other.');
    expect(times(shown, '> A question')).toBe(1);
    expect(world.provider.requests[1]?.body).toMatchObject({ model: 'other' });
  });

  it('names the fork, and what it came from, in the tree', async ({ expect }) => {
    await using world = await terminalWorld(['A reply.', 'In the fork.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('/fork\r');
    await terminal.shows('There is nothing to fork yet.');
    terminal.type('A question\r');
    await terminal.shows(/1 turn · /);
    terminal.type('/fork\r');
    await terminal.shows('This is a fork');
    terminal.type('/tree\r');
    await terminal.shows(/^ {2}session_\w+ .*A question\n● {3}session_\w+ {2}fork at \d+ .*A question$/m);
    terminal.type('/resume\r');
    expect(await terminal.shows(/fork of \w{8}/)).toContain('this one');
  });

  it('goes to another line at Ctrl+J, and at Enter after a backslash', async ({ expect }) => {
    await using world = await terminalWorld(['Read.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    // Keys that come earlier belong to a line of the shell's.
    terminal.type('o');
    await terminal.shows(/^> o$/m);
    terminal.type('ne\ntwo\\\rthree');
    await terminal.shows(/^> one\n {2}two\n {2}three$/m);
    terminal.type('\r');
    await terminal.shows('Read.');
    expect(JSON.stringify(world.provider.requests[0]?.body)).toContain(String.raw`one\ntwo\nthree`);
  });

  it('tells the next message what a command of the user’s has put out, and ends one that hangs', async ({ expect }) => {
    await using world = await terminalWorld(['I see it.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('!echo from the shell\r');
    await terminal.shows(/^! echo from the shell\n {2}from the shell$/m);
    terminal.type('!sleep 600\r');
    await terminal.shows(/^! sleep 600 · \d+ s · Esc ends it$/m);
    terminal.type(ESC);
    await terminal.shows(/^! sleep 600\n {2}\[stopped\]$/m);
    terminal.type('What was it?\r');
    const shown = await terminal.shows('I see it.');
    const body = JSON.stringify(world.provider.requests[0]?.body);
    expect(body).toContain('from the shell');
    expect(body).toContain('[stopped]');
    // It stands there since it ran.
    expect(times(shown, '! echo from the shell'), shown).toBe(1);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('asks at the first start whose model is to answer, and keeps the key', async ({ expect }) => {
    await using world = await terminalWorld([
      'With the key.',
      { error: { status: 401, message: 'invalid x-api-key' } },
    ]);
    const env = { TREADLE_MODEL: '', ANTHROPIC_API_KEY: '' };
    const terminal = world.open([], { env });
    await terminal.shows(/Which model should answer\?\n❯ 1 {2}Anthropic/);
    await seen();
    terminal.type('\r');
    await terminal.shows('which is not shown');
    await seen();
    terminal.type('sk-ant-0123456789\r');
    await terminal.shows(/^anthropic\/claude\S+ · default/m);
    terminal.type('Hello\r');
    await terminal.shows('With the key.');
    const login = await readFile(join(world.home, '.config/treadle/login.json'), 'utf8');
    expect(login).toContain('sk-ant-0123456789');
    expect(terminal.emulator.raw()).not.toContain('0123456789');
    terminal.type('/login openai\r');
    await terminal.shows('The key of openai');
    terminal.type('sk-0123456789\r');
    await terminal.shows('Kept, for the next start.');
    expect(terminal.emulator.raw()).not.toContain('0123456789');
    terminal.type('And now?\r');
    await terminal.shows('The key may be wrong.');
  });

  it('says in plan mode why nothing is written, and how to leave it', async ({ expect }) => {
    const write = { name: 'write_file', arguments: { path: 'a.md', content: 'hello\n' } };
    await using world = await terminalWorld([{ toolCalls: [write] }, 'Not now.', { toolCalls: [write] }, 'Written.']);
    const terminal = world.open(['--permission-mode', 'plan']);
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows(
      /refused · In\s+plan\s+mode\s+only\s+calls\s+that\s+change\s+nothing\s+are\s+run \(Shift\+Tab\s+leaves it\)/,
    );
    await terminal.shows('Not now.');
    terminal.type('\u001b[Z');
    await terminal.shows(/anthropic\/x · default/);
    terminal.type('Go\r');
    await choose(terminal, '4');
    // The call stays on the screen while its reason is typed.
    expect(await terminal.shows('No, because:')).toMatch(/Write a file · a\.md\n[^]* {2}\+hello[^]*Why not\?/);
    terminal.type('not there\r');
    await terminal.shows(/refused[^]*by you: not there/);
    await terminal.shows('Written.');
    expect(JSON.stringify(world.provider.requests[3]?.body)).toContain('not there. Do as they say');
  });
});
