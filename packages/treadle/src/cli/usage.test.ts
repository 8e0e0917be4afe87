import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../test-support/harness.ts';

describe('arguments that can’t be used', () => {
  it.each([
    [['--modle', 'x', 'Go.'], "Unknown option '--modle'. Did you mean '--model'?"],
    [['Go.', '--continu'], "Did you mean '--continue'?"],
    [['Go.', '--alow=bash'], "Did you mean '--allow'?"],
    [['run', 'Go.', '-z'], "Unknown option '-z'. A prompt that begins with a dash goes after --."],
    [['--', 'hi', 'there'], 'treadle run "hi there"'],
    [['run', 'hi', '-p', 'there'], 'treadle run "hi there"'],
    [['-p', 'hi', 'there'], 'treadle run "hi there"'],
    [['Go.', '--model', 'nobody/x'], 'openai-compatible, demo.'],
    [['Go.', '--model', 'antropic/x'], "Did you mean 'anthropic'?"],
    [['Go.', '--model', 'demmo'], "Did you mean 'demo'?"],
    [['sesions', 'list'], "Unknown command 'sesions'. Did you mean 'sessions'?"],
    [['rnu', 'Go.'], "Did you mean 'run'?"],
    [['frobnicate'], 'If it is a prompt, write: treadle run "frobnicate"'],
    [
      ['fix', 'it', '-m', 'demo', '--title', 'a b'],
      'If it is a prompt, write: treadle run "fix it" -m demo --title "a b"',
    ],
    [['sessions'], 'sessions list, sessions show'],
    [['sessions', 'lsit'], "Did you mean 'sessions list'?"],
    [['sessions', 'show'], 'needs the id'],
    [['sessions', 'cost'], 'needs the id'],
    [['sessions', 'show', 'x', '--format', 'html'], "--format takes text, markdown or json, and not 'html'"],
    [['sessions', 'show', 'x', '--format', 'text', '--json'], 'either --format or --json'],
    [['sessions', 'show', 'x', '--all'], '--all goes with --format'],
    [['sessions', 'list', '--jsno'], "Did you mean '--json'?"],
    [['sessions', 'list', '--cursor', 'bogus'], "--cursor takes what an earlier sessions list named, and not 'bogus'"],
    [['sessions', 'list', 'extra'], "'extra' is too much"],
    [['Go.', '-r', '--model', 'demo'], 'Which session?'],
    [['Go.', '--resume'], 'Which session?'],
    [['Go.', '--model'], '--model needs a value'],
    [['Go.', '--model', '--cwd', '.'], '--model needs a value'],
    [['Go.', '--no-save=yes'], '--no-save takes no value'],
    [['Go.', '--output-format', 'jsno'], "Did you mean 'json'?"],
    [['Go.', '--max-turns', '0'], 'whole number of at least 1'],
    [['Go.', '--max-turns', '3.5'], 'whole number of at least 1'],
    [['Go.', '--max-cost', '0'], 'a number above 0'],
    [['Go.', '--max-cost', 'cheap'], 'a number above 0'],
    [['Go.', '--allow', 'bsh'], 'Did you mean "bash"?'],
    [['Go.', '--tools', 'read'], "Did you mean 'read_file'?"],
    [['Go.', '-c', '-r', 'x'], 'name two sessions'],
    [['Go.', '-c', '--no-save'], 'continues none'],
    [['Go.', '--stdin', '--no-stdin'], 'not both'],
    [['run', 'Summarise', 'this', 'file'], 'Put it in quotes: treadle run "Summarise this file"'],
    [['Go.', '-p', 'Stop.'], 'There is one prompt'],
    [['run', ' '], 'The prompt is empty'],
    [['run'], 'There is no prompt'],
    [[], 'There is no prompt'],
    [['Go.', '--cwd', '/no/such/folder'], 'There is no folder /no/such/folder'],
    [['Go.', '-c'], 'There is no session of'],
    [['Go.', '-r', 'session_gone'], 'There is no session session_gone. treadle sessions list shows'],
    [['sessions', 'show', 'session_gone'], 'session_gone'],
  ])('%j: exit 2, and a hint', async (argv, hint) => {
    const { code, stdout, stderr } = await runCli(argv);
    expect(stderr).toContain(hint);
    expect({ code, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({ code: 2, stdout: '', lines: 1 });
  });

  it('a folder that is a file', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'file');
    await writeFile(path, '');
    expect(await runCli(['Go.', '--cwd', path])).toMatchObject({
      code: 2,
      stderr: `treadle: ${path} is not a folder.\n`,
    });
  });

  it('standard input that is not text', async () => {
    const { code, stderr } = await runCli(['Go.'], { stdin: 'a\u0000b' });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('not text') as string });
  });

  it('standard input of more than 10 MB', async () => {
    const { code, stderr } = await runCli(['Go.'], { stdin: 'x'.repeat(10_000_001) });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('more than 10 MB') as string });
  });

  it('a home that is not a folder', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'file');
    await writeFile(path, '');
    const { code, stdout, stderr } = await runCli(['What can you do?'], { env: { TREADLE_HOME: path } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(path);
    expect(stderr).not.toContain('    at ');
  });
});

describe('a home that can’t be made', () => {
  it.runIf(existsSync('/proc/self'))('in a folder of the system’s: says so, and ends', async () => {
    const { code, stderr } = await runCli(['What can you do?', '--model', 'demo'], {
      env: { TREADLE_HOME: '/proc/nope/deeper' },
    });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^treadle: Sessions can't be kept in \/proc\/nope\/deeper: .*--no-save/) as string,
    });
  });

  it('below a file', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'file'), '');
    const { code, stderr } = await runCli(['sessions', 'list'], {
      env: { TREADLE_HOME: join(folder.path, 'file/deeper') },
    });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("Sessions can't be kept") as string });
  });

  it('makes every folder on the way otherwise', async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, 'a/b/c');
    const { code } = await runCli(['sessions', 'list'], { env: { TREADLE_HOME: home } });
    expect({ code, made: existsSync(home) }).toEqual({ code: 0, made: true });
  });
});

describe('asking what there is', () => {
  it.each([['--help'], ['-h'], ['help'], ['run', '--help'], ['Go.', '-h']])('%j', async (...argv) => {
    const { code, stdout, stderr } = await runCli(argv.filter((word) => word !== undefined));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const word of ['--output-format', '--continue', 'sessions list', '130', 'permission needed', 'TREADLE_HOME']) {
      expect(stdout).toContain(word);
    }
  });

  it.each([
    ['sessions', '--help'],
    ['sessions', 'list', '-h'],
    ['help', 'sessions'],
  ])('%s %s', async (...argv) => {
    const { code, stdout } = await runCli(argv.filter((word) => word !== undefined));
    expect({ code, told: stdout.includes('--cursor') }).toEqual({ code: 0, told: true });
  });

  it.each([[['--version']], [['-v']], [['sessions', 'list', '-v']]])('%j', async (argv) => {
    expect(await runCli(argv)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
      stderr: '',
    });
  });
});
