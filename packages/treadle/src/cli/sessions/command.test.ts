import { memoryJournal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runCli, startCli, temporaryFolder } from '../../test-support/harness.ts';

interface Page {
  readonly sessions: readonly { readonly sessionId: string; readonly firstPrompt: string; readonly folder: string }[];
  readonly cursor: string | null;
}

async function worldWith(prompts: readonly string[]) {
  const home = await temporaryFolder();
  const options = { env: { TREADLE_HOME: home.path }, cwd: home.path };
  for (const prompt of prompts) await runCli([prompt], { ...options, model: scriptedModel(['Ok.']) });
  return { ...home, options, [Symbol.asyncDispose]: home[Symbol.asyncDispose] };
}

describe('treadle sessions list', () => {
  it('says of a session that it is damaged, and lists the others', async () => {
    const damaged = { sessionId: 'bad', seq: 3, createdAt: 0, updatedAt: 0, damage: 'Event 2 is\nbroken.' };
    const good = { sessionId: 'good', seq: 3, createdAt: 0, updatedAt: 0, title: 'Fine.' };
    const journal = { ...memoryJournal(), list: async () => ({ sessions: [damaged, good] }) };
    const { stdout } = await runCli(['sessions', 'list'], { parts: { journal: async () => journal } });
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((row) => row.split('\t').slice(2));
    expect(rows).toEqual([
      ['-', '[damaged] Event 2 is broken.'],
      ['-', 'Fine.'],
    ]);
  });

  it('says so when there are none', async () => {
    await using world = await worldWith([]);
    expect(await runCli(['sessions', 'list'], world.options)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'treadle: There are no sessions here.\n',
    });
  });

  it('prints a row per session, the latest first', async () => {
    await using world = await worldWith(['First one.', 'Second\tone,\nin lines.']);
    const { stdout } = await runCli(['sessions', 'list'], world.options);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((row) => row.split('\t'));
    expect(rows.map((row) => row.slice(2))).toEqual([
      [world.path, 'Second one, in lines.'],
      [world.path, 'First one.'],
    ]);
    for (const [id, at] of rows) {
      expect(id).toMatch(/^session_\w+$/);
      expect(at).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\dZ$/);
    }
  });

  it('has the title that the model gave, where the run was asked to have one', async () => {
    await using world = await worldWith([]);
    const model = scriptedModel(['Light is scattered.', '{"title": "The colour of the sky"}']);
    const { code, stdout } = await runCli(['Why is the sky blue?', '--title'], { ...world.options, model });
    expect([code, stdout]).toEqual([0, expect.stringContaining('Light is scattered.')]);
    expect((await runCli(['sessions', 'list'], world.options)).stdout).toMatch(/\tThe colour of the sky\n$/);
  });

  it('comes in pages', async () => {
    await using world = await worldWith(['One.', 'Two.', 'Three.']);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const more: string[] = cursor === null ? [] : ['--cursor', cursor];
      const { stdout } = await runCli(['sessions', 'list', '--json', '--limit', '2', ...more], world.options);
      const page = JSON.parse(stdout) as Page;
      seen.push(...page.sessions.map(({ firstPrompt }) => firstPrompt));
      cursor = page.cursor;
    } while (cursor !== null);
    expect(seen).toEqual(['Three.', 'Two.', 'One.']);
    const { stderr } = await runCli(['sessions', 'list', '--limit', '1'], world.options);
    expect(stderr).toMatch(/: treadle sessions list --limit 1 --cursor \S+\n$/);
    const here = await runCli(['sessions', 'list', '--limit=1', '--cwd', '.'], world.options);
    expect(here.stderr).toMatch(/: treadle sessions list --limit 1 --cwd \. --cursor \S+\n$/);
  });

  it('can be of one folder', async () => {
    await using world = await worldWith(['Here.']);
    await using elsewhere = await temporaryFolder();
    await runCli(['There.'], { ...world.options, cwd: elsewhere.path, model: scriptedModel(['Ok.']) });
    const { stdout } = await runCli(['sessions', 'list', '--cwd', elsewhere.path, '--json'], world.options);
    expect((JSON.parse(stdout) as Page).sessions).toMatchObject([{ firstPrompt: 'There.', folder: elsewhere.path }]);
  });
});

describe('a session', () => {
  it('can be named by the beginning of its id, as the last line of a run has it', async () => {
    await using world = await worldWith(['One.']);
    const first = await runCli(['Two.'], { ...world.options, model: scriptedModel(['Ok.']) });
    const [, short = ''] = /session (\w+)$/m.exec(first.stdout) ?? [];
    for (const id of [short, `session_${short}`]) {
      const { code, stdout } = await runCli(['sessions', 'show', id], world.options);
      expect({ code, stdout }).toEqual({ code: 0, stdout: '> Two.\n\nOk.\n' });
    }
    const model = scriptedModel(['Ok.']);
    await runCli(['-r', short, 'Three.'], { ...world.options, model });
    expect(model.requests[0]?.messages).toHaveLength(3);
  });

  it('is not guessed when the beginning is of several', async () => {
    await using world = await worldWith(['One.', 'Two.']);
    const { code, stderr } = await runCli(['sessions', 'show', 'session_'], world.options);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/2 sessions begin with 'session_': session_\w+, session_\w+\./) as string,
    });
  });
});

describe('the sessions of a folder that is gone, in SQLite', () => {
  it('S14: are listed by its path, read, and go on elsewhere', async () => {
    await using world = await worldWith([]);
    const folder = join(world.path, 'parent', 'gone');
    await mkdir(folder, { recursive: true });
    await symlink(join(world.path, 'parent'), join(world.path, 'link'));
    await runCli(['There.'], { ...world.options, cwd: folder, model: scriptedModel(['Ok.']) });
    await rm(folder, { recursive: true });
    for (const path of [folder, 'link/gone']) {
      const { code, stdout } = await runCli(['sessions', 'list', '--cwd', path, '--json'], world.options);
      expect({ code, page: JSON.parse(stdout) as Page }).toMatchObject({
        code: 0,
        page: { sessions: [{ firstPrompt: 'There.', folder }] },
      });
    }
    const { stdout } = await runCli(['sessions', 'list'], world.options);
    const [id = ''] = stdout.split('\t');
    expect((await runCli(['sessions', 'show', id], world.options)).stdout).toBe('> There.\n\nOk.\n');
    const refused = await runCli(['-r', id, 'On.'], { ...world.options, model: scriptedModel(['Ok.']) });
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('name another one with --cwd') as string,
    });
    const moved = await runCli(['-r', id, 'On.', '--cwd', '.'], { ...world.options, model: scriptedModel(['Ok.']) });
    expect(moved.code).toBe(0);
  });
});

const idOf = async (options: Parameters<typeof runCli>[1]): Promise<string> => {
  const { stdout } = await runCli(['sessions', 'list', '--json'], options);
  return (JSON.parse(stdout) as Page).sessions[0]?.sessionId ?? '';
};

describe('treadle sessions show', () => {
  it('prints what was said and done', async () => {
    await using world = await worldWith([]);
    await writeFile(join(world.path, 'a.txt'), 'one\n');
    const model = scriptedModel([
      { text: 'Let me look.', toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
      'One line.',
    ]);
    await runCli(['What is in a.txt?\nSay it.'], { ...world.options, model });
    await runCli(['-c', 'Again.'], {
      ...world.options,
      model: scriptedModel([{ error: { kind: 'auth', retryable: false } }]),
    });
    const { code, stdout } = await runCli(['sessions', 'show', await idOf(world.options)], world.options);
    expect(code).toBe(0);
    expect(stdout.replace(/\d+ ms/, '# ms')).toBe(`> What is in a.txt?
> Say it.

Let me look.

• Read a file · a.txt · 1 line · # ms

One line.

> Again.

[model_error: The script says that this call fails.]
`);
  });

  it('prints the same as JSON', async () => {
    await using world = await worldWith(['Go.']);
    const sessionId = await idOf(world.options);
    const { stdout } = await runCli(['sessions', 'show', sessionId, '--json'], world.options);
    expect(JSON.parse(stdout)).toMatchObject({
      sessionId,
      folder: world.path,
      openRunId: null,
      runs: [{ status: 'completed', turns: 1 }],
      messages: [
        { role: 'user', content: [{ text: 'Go.' }] },
        { role: 'assistant', content: [{ text: 'Ok.' }] },
      ],
    });
  });

  it('says when a run has not ended', async () => {
    await using world = await worldWith([]);
    const model = scriptedModel([{ text: 'Working on it', waitAfter: { deltas: 1, until: new Promise(() => {}) } }]);
    const call = startCli(['Go.'], { ...world.options, model });
    await call.printed('Working');
    const { stdout } = await runCli(['sessions', 'show', await idOf(world.options)], world.options);
    call.signal('SIGINT');
    await call.outcome;
    expect(stdout).toContain('has not ended');
  });
});

describe('treadle sessions show --format', () => {
  const shown = async (format: string, ...more: readonly string[]): Promise<string> => {
    await using world = await worldWith([]);
    await writeFile(join(world.path, 'a.txt'), '```\none\u001b[31m\n');
    const model = scriptedModel([
      { thinking: 'Hm.', text: 'Let me look.', toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
      'One line.',
    ]);
    await runCli(['What is in a.txt?'], { ...world.options, model });
    const args = ['sessions', 'show', await idOf(world.options), '--format', format, ...more];
    const { code, stdout } = await runCli(args, world.options);
    expect(code).toBe(0);
    return stdout.replace(/\d+ ms/, '# ms');
  };

  it('text: prints the transcript as plain text', async () => {
    const text = await shown('text');
    expect(text).toContain(
      'User\n  What is in a.txt?\n\nAssistant (scripted/scripted)\n  Let me look.\n\nTool read_file',
    );
    expect(text).toContain('\n\nAssistant (scripted/scripted)\n  One line.\n');
    expect(text).not.toContain('\u001b');
    expect(text).not.toContain('Hm.');
  });

  it('markdown: prints it as a document', async () => {
    const text = await shown('markdown', '--all');
    expect(text).toMatch(/^# What is in a\.txt\?\n\nSession `session_\w+`\n\n## User\n\n> What is in a\.txt\?\n/);
    expect(text).toContain('*Thinking:*\n\n> Hm.');
    expect(text).toMatch(/\n````\n[^`]*```\n[^]*\n````\n/);
  });

  it('json: prints it as data', async () => {
    expect(JSON.parse(await shown('json'))).toMatchObject({
      title: 'What is in a.txt?',
      entries: [
        { type: 'user' },
        { type: 'assistant', text: 'Let me look.' },
        { type: 'tool', toolName: 'read_file', status: 'ok' },
        { type: 'assistant', text: 'One line.' },
      ],
    });
  });
});

describe('treadle sessions cost', () => {
  const cost = ({ output }: { readonly output: number | null }): number | null =>
    output === null ? null : output / 100;
  const usage = { input: 1200, output: 10, cacheRead: 400, cacheWrite: 0 };

  it('prints what each model and each run have used, and the sum', async () => {
    await using world = await worldWith([]);
    await runCli(['One.'], { ...world.options, model: scriptedModel([{ text: 'Ok.', usage }], { cost }) });
    await runCli(['-c', 'Two.'], { ...world.options, model: scriptedModel([{ text: 'Ok.', usage: null }], { cost }) });
    const id = await idOf(world.options);
    const { code, stdout } = await runCli(['sessions', 'cost', id], world.options);
    expect(code).toBe(0);
    expect(stdout.replaceAll(id, 'ID').replaceAll(/ +/g, ' ')).toBe(
      `model calls input output cache read cache write cache hits cost
scripted/scripted 2 1,200 10 400 0 ? ? (at least $0.1000)

run calls input output cache read cache write cache hits cost end
ID.scripted.scripted.1 1 1,200 10 400 0 25% $0.1000 completed
ID.scripted.scripted.2 1 ? ? ? ? ? ? completed

total 2 1,200 10 400 0 ? ? (at least $0.1000)
`,
    );
    // The columns line up: every count ends where the head of its column ends.
    const rows = stdout.split('\n').filter((line) => line !== '');
    const end = (rows[0]?.indexOf('calls') ?? 0) + 'calls'.length;
    expect(rows.map((row) => row.slice(0, end)).filter((row) => !/ (?:calls|[12])$/.test(row))).toEqual([]);
  });

  it('prints the same as JSON', async () => {
    await using world = await worldWith(['One.']);
    const sessionId = await idOf(world.options);
    const { stdout } = await runCli(['sessions', 'cost', sessionId, '--json'], world.options);
    expect(JSON.parse(stdout)).toMatchObject({
      sessionId,
      models: [{ provider: 'scripted', calls: 1 }],
      runs: [{ status: 'completed', calls: 1 }],
      total: { calls: 1, cost: null },
    });
  });
});
