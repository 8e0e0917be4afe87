import { scriptedModel } from '@treadle/testing';

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { jsonLines, runCli, temporaryFolder } from '../../test-support/harness.ts';

async function world() {
  const home = await temporaryFolder();
  const options = { env: { TREADLE_HOME: home.path }, cwd: home.path };
  await writeFile(join(home.path, 'a.txt'), 'one\n');
  const cli = (...args: string[]) => runCli(['sessions', ...args], options);
  const json = async <Value>(...args: string[]): Promise<Value> =>
    JSON.parse((await cli(...args, '--json')).stdout) as Value;
  const ask = async (prompt: string, ...turns: Parameters<typeof scriptedModel>[0] & unknown[]): Promise<string> => {
    await runCli([prompt], { ...options, model: scriptedModel(turns) });
    const { sessions } = await json<{ sessions: { sessionId: string }[] }>('list', '--limit', '1');
    return sessions[0]?.sessionId ?? '';
  };
  return { ...home, options, cli, json, ask, [Symbol.asyncDispose]: home[Symbol.asyncDispose] };
}

const READ = { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] };

describe('treadle sessions tree', () => {
  it('prints a session with its forks, whichever of them is named, as text and as JSON', async () => {
    await using here = await world();
    const root = await here.ask('First one.', 'Sunny.');
    await here.cli('rename', root, 'The weather');
    const { sessionId: fork } = await here.json<{ sessionId: string }>('fork', root, '--title', 'Another');
    const { stdout } = await here.cli('tree', fork);
    expect(stdout.split('\n')).toEqual([
      `${root}  1 run  ?  The weather`,
      expect.stringMatching(new RegExp(`^ {2}${fork}  fork at \\d+  0 runs  \\$0\\S*  Another$`)),
      '',
      '2 sessions, 1 run, ?',
      '',
    ]);
    expect(await here.json('tree', root)).toMatchObject({
      rootSessionId: root,
      sessions: [
        { sessionId: root, tie: { kind: 'root' }, childSessionIds: [fork], runs: [{ status: 'completed' }] },
        { sessionId: fork, tie: { kind: 'fork', sessionId: root }, runs: [] },
      ],
    });
    expect((await here.cli('tree', 'nobody')).code).not.toBe(0);
  });
});

describe('treadle sessions rename, tag, list and search', () => {
  it('name and tag sessions, list and find them by it, as text and as JSON', async () => {
    await using here = await world();
    const [a, b] = [await here.ask('First one.', 'Sunny.'), await here.ask('Second one.', 'Cloudy with rain.')];
    expect(await here.json('rename', a, 'The weather')).toEqual({ sessionId: a, title: 'The weather' });
    expect((await here.cli('tag', b, 'wet', 'north')).stdout).toBe(`${b}\t+wet +north\n`);
    expect(await here.json('tag', b, '--remove', 'north')).toEqual({ sessionId: b, added: [], removed: ['north'] });
    expect((await here.cli('list')).stdout).toMatch(/\tSecond one\.\n.*\tThe weather\n$/);
    expect(await here.json('list', '--tag', 'wet')).toMatchObject({ sessions: [{ sessionId: b, tags: ['wet'] }] });
    const mine = await here.json('list', '--agent', `cli:${here.path}`, '--limit', '1');
    expect(mine).toMatchObject({ sessions: [{ sessionId: b }], cursor: expect.any(String) as string });
    expect((await here.cli('list', '--limit', '1', '--tag', 'wet')).stderr).toBe('');
    expect(await here.json('list', '--agent', 'nobody')).toEqual({ sessions: [], cursor: null });
    expect((await here.cli('search', 'rain')).stdout).toBe(`${b}\tmessage\tCloudy with rain.\n`);
    expect(await here.json('search', 'weather')).toEqual({
      hits: [{ sessionId: a, where: 'title', excerpt: 'The weather', seq: null }],
    });
    expect(await here.cli('search', 'snow')).toMatchObject({ code: 0, stdout: '' });
  });

  it('say how they are used, and what is wrong', async () => {
    await using here = await world();
    const id = await here.ask('Go.', 'Ok.');
    for (const args of [
      ['rename', id],
      ['rename', id, ' x'],
      ['tag', id],
      ['fork'],
      ['rename', 'nobody', 'x'],
      ['delete', 'nobody'],
      ['list', '--agent', 'x', '--cwd', '.'],
    ]) {
      expect(await here.cli(...args)).toMatchObject({ code: 2, stdout: '' });
    }
    const { stdout } = await here.cli('fork', '--help');
    for (const name of [
      'fork ID',
      'rerun ID',
      'replay ID',
      'export ID',
      'rename ID',
      'tag ID',
      'delete ID',
      'search',
    ]) {
      expect(stdout).toContain(name);
    }
    expect((await here.cli('forc')).stderr).toContain("'sessions fork'");
  });
});

describe('treadle sessions fork and delete', () => {
  it('begins a session with another one’s events, which stays when that is deleted', async () => {
    await using here = await world();
    const id = await here.ask('One.', 'First.');
    const { sessionId } = await here.json<{ sessionId: string }>('fork', id, '--title', 'Mine', '--tag', 'x,y');
    const model = scriptedModel(['Second.']);
    await runCli(['-r', sessionId, 'Two.'], { ...here.options, model });
    expect(model.requests[0]?.messages).toHaveLength(3);
    expect(await here.json('delete', id)).toEqual({ deleted: [id] });
    expect((await here.cli('show', sessionId)).stdout).toBe('> One.\n\nFirst.\n\n> Two.\n\nSecond.\n');
    expect(await here.json('list')).toMatchObject({
      sessions: [{ sessionId, title: 'Mine', tags: ['x', 'y'], parent: { sessionId: id } }],
    });
    expect(await here.cli('fork', sessionId, '--at', '999')).toMatchObject({ code: 2 });
  });
});

describe('treadle sessions export', () => {
  it('prints the log as JSON lines, as one object, and the transcript', async () => {
    await using here = await world();
    const id = await here.ask('One.', 'First.');
    const lines = jsonLines<{ type: string; seq: number }>((await here.cli('export', id)).stdout);
    expect(lines[0]).toMatchObject({ type: 'session_created', seq: 1 });
    expect(lines.at(-1)).toMatchObject({ type: 'run_ended', seq: lines.length });
    expect(await here.json('export', id)).toEqual({ sessionId: id, events: lines });
    expect((await here.cli('export', id, '--format', 'markdown')).stdout).toContain('# One.');
    expect(await here.cli('export', 'nobody')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('treadle sessions rerun', () => {
  it('does the latest run again in a fork, or with another prompt', async () => {
    await using here = await world();
    const id = await here.ask('Toss a coin.', 'Heads.');
    const again = await runCli(['sessions', 'rerun', id, '--json'], {
      ...here.options,
      model: scriptedModel(['Tails.']),
    });
    const result = JSON.parse(again.stdout) as { sessionId: string };
    expect(result).toMatchObject({ text: 'Tails.', status: 'completed' });
    expect(result.sessionId).not.toBe(id);
    const other = await runCli(['sessions', 'rerun', id, 'Throw a die.'], {
      ...here.options,
      model: scriptedModel(['Six.']),
    });
    expect(other.stdout).toContain('Six.');
    const { sessions } = await here.json<{ sessions: { sessionId: string }[] }>('list', '--limit', '1');
    expect((await here.cli('show', sessions[0]?.sessionId ?? '')).stdout).toBe('> Throw a die.\n\nSix.\n');
    expect(await here.cli('rerun')).toMatchObject({ code: 2 });
  });
});

describe('treadle sessions replay', () => {
  it('plays a session with its recorded replies and results, and says that nothing differs', async () => {
    await using here = await world();
    const id = await here.ask('What is in a.txt?', READ, 'One line.');
    await writeFile(join(here.path, 'a.txt'), 'quite\nother\n');
    const { code, stdout } = await runCli(['sessions', 'replay', id], { ...here.options, model: scriptedModel([]) });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^run\t\S+\tcompleted\nsame\n$/) as string,
    });
  });

  it('asks another model when one is named, and reports what differs, what is missing, and where it stopped', async () => {
    await using here = await world();
    const id = await here.ask('What is in a.txt?', READ, 'One line.');
    const other = { toolCalls: [{ name: 'read_file', arguments: { path: 'b.txt' } }] };
    const model = scriptedModel([other]);
    const args = ['sessions', 'replay', id, '--model', 'scripted/x', '--json'];
    const { code, stdout } = await runCli(args, { ...here.options, model });
    expect({ code, report: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 1,
      report: {
        sessionId: null,
        misses: [{ toolName: 'read_file', arguments: { path: 'b.txt' }, executed: false }],
        unused: [{ toolName: 'read_file' }],
        stopped: expect.stringContaining('No result of read_file') as string,
      },
    });
    const text = await runCli(['sessions', 'replay', id, '--turn', '1', '--model', 'scripted/x'], {
      ...here.options,
      model: scriptedModel(['1 line.']),
    });
    expect(text).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('  was  One line.\n  is   1 line.\n') as string,
    });
    expect(await runCli(['sessions', 'replay', id, '--turn', 'x'], here.options)).toMatchObject({ code: 2 });
  });
});
