import { scriptedModel } from '@treadle/testing';

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../test-support/harness.ts';

const fetched = { toolCalls: [{ name: 'web_fetch', arguments: { url: 'http://127.0.0.1:1/' } }] };

/** What becomes of a call of web_fetch, with these flags and settings. */
async function outcome(
  flags: readonly string[],
  settings: { readonly user?: object; readonly project?: object; readonly local?: object } = {},
): Promise<'not there' | 'denied' | 'run'> {
  await using top = await temporaryFolder();
  const folder = join(top.path, 'project');
  await mkdir(folder);
  const files = {
    [join(top.path, 'home/.config/treadle/settings.json')]: settings.user,
    [join(folder, '.treadle/settings.json')]: settings.project,
    [join(folder, '.treadle/settings.local.json')]: settings.local,
  };
  for (const [path, content] of Object.entries(files)) {
    if (content === undefined) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify(content));
  }
  const env = { HOME: join(top.path, 'home'), TREADLE_HOME: join(top.path, 'kept') };
  const args = ['Go.', '--output-format', 'events', ...flags];
  const { stdout } = await runCli(args, { cwd: folder, env, model: scriptedModel([fetched, 'Done.']) });
  if (stdout.includes('"reason":"unknown_tool"')) return 'not there';
  if (stdout.includes('"reason":"denied"')) return 'denied';
  return stdout.includes('"problem":"address_refused"') ? 'run' : 'not there';
}

const allow = ['--allow', 'web_fetch(domain:127.0.0.1)'];

describe('web_fetch', () => {
  it.each([
    [[], 'not there'],
    [['--allow', 'web_fetch'], 'not there'],
    [['--web'], 'denied'],
    [['--web', ...allow], 'run'],
    [['--web', '--allow', 'web_fetch(domain:example.com)'], 'denied'],
    [['--tools', 'web_fetch', ...allow], 'run'],
    [['--web', '--tools', 'read_file', ...allow], 'not there'],
  ] as const)('with %j is %s', async (flags, expected) => {
    expect(await outcome(flags)).toBe(expected);
  });

  it.each([
    [{ user: { web: true } }, 'run'],
    [{ local: { web: true } }, 'run'],
    [{ project: { web: true } }, 'not there'],
    [{ user: { web: true }, project: { web: false } }, 'not there'],
    [{ user: { web: true }, local: { web: false } }, 'not there'],
  ] as const)('with the settings %j of a trusted folder is %s', async (settings, expected) => {
    expect(await outcome(['--trust', ...allow], settings)).toBe(expected);
  });

  it('is not there because of a folder that nobody trusted', async () => {
    expect(await outcome(allow, { local: { web: true } })).toBe('not there');
  });
});
