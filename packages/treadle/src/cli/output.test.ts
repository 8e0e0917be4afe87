// What happens when the output can't be printed, and when two streams are one screen.

import { scriptedModel } from '@treadle/testing';

import { existsSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../test-support/harness.ts';
import { bin, startCommand } from '../test-support/process.ts';

const failing = (code: string): Error => Object.assign(new Error(`${code}: write failed`), { code });
const COMMANDS = [
  [['Go.']],
  [['Go.', '--output-format', 'json']],
  [['Go.', '--output-format', 'events']],
  [['sessions', 'list', '--json']],
  [['--help']],
  [['--version']],
];

describe('output that can’t be written', () => {
  it.each(COMMANDS)('%j: says why, and exits 1', async (argv) => {
    await using home = await temporaryFolder();
    const { code, stderr } = await runCli(argv, {
      model: scriptedModel(['Done.']),
      env: { TREADLE_HOME: home.path },
      outputError: failing('ENOSPC'),
    });
    expect(code).toBe(1);
    expect(stderr.match(/^treadle: The output could not be written: ENOSPC: write failed\.$/gm)).toHaveLength(1);
  });

  it.each(COMMANDS)('%j: exits 141 and says nothing when only its reader is gone', async (argv) => {
    await using home = await temporaryFolder();
    const { code, stderr } = await runCli(argv, {
      model: scriptedModel(['Done.']),
      env: { TREADLE_HOME: home.path },
      outputError: failing('EPIPE'),
    });
    expect({ code, stderr: stderr.replace(/^treadle: Model: .*\n/, '') }).toEqual({ code: 141, stderr: '' });
  });

  it
    .runIf(existsSync('/dev/full'))
    .each([
      [['What can you do?', '--model', 'demo']],
      [['What can you do?', '--model', 'demo', '--output-format', 'json']],
      [['sessions', 'list', '--json']],
      [['--help']],
    ])('on a full device, %j: says why, and exits 1', async (argv) => {
    await using home = await temporaryFolder();
    const script = '"$0" "$@" > /dev/full';
    const options = { cwd: home.path, env: { HOME: home.path } };
    const { code, stderr } = await startCommand('bash', ['-c', script, process.execPath, bin, ...argv], options).ended;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^treadle: The output could not be written: ENOSPC.*\n$/) as string,
    });
  });
});

describe('a terminal that shows both streams', () => {
  const model = () =>
    scriptedModel([{ text: 'Let me run it.', toolCalls: [{ name: 'bash', arguments: { command: 'make' } }] }, 'No.']);

  it('has every note on a line of its own', async () => {
    const { screen } = await runCli(['Go.'], { model: model(), stdin: '', isTTY: 'both', env: { NO_COLOR: '1' } });
    expect(screen).toMatch(/^Let me run it\.\ntreadle: Refused: bash .*\n\n• Run a command/m);
  });

  it('is not assumed when standard error goes elsewhere', async () => {
    const { stdout } = await runCli(['Go.'], { model: model(), isTTY: true, env: { NO_COLOR: '1' } });
    expect(stdout).toMatch(/^Let me run it\.\n\n• Run a command/);
  });
});
