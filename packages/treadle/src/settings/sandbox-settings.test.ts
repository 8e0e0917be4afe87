import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { temporaryFolder } from '../test-support/harness.ts';
import { combineSettings, findFolderSettings, trustFolder } from './combine.ts';

/** The sandbox that acts in a folder with these files, trusted unless said otherwise. */
async function sandbox(
  files: { readonly user?: object; readonly project?: object; readonly local?: object },
  trusted = true,
): Promise<{ readonly sandbox: object | undefined; readonly notes: string }> {
  await using top = await temporaryFolder();
  const folder = join(top.path, 'project');
  await mkdir(folder);
  const paths = {
    user: join(top.path, 'home/.config/treadle/settings.json'),
    project: join(folder, '.treadle/settings.json'),
    local: join(folder, '.treadle/settings.local.json'),
  };
  for (const name of ['user', 'project', 'local'] as const) {
    if (files[name] === undefined) continue;
    await mkdir(dirname(paths[name]), { recursive: true });
    await writeFile(paths[name], JSON.stringify({ sandbox: files[name] }));
  }
  const io = { env: { HOME: join(top.path, 'home') }, cwd: folder };
  const found = await findFolderSettings(folder, io);
  const notes: string[] = [];
  const combined = await combineSettings(
    trusted ? await trustFolder(found) : found,
    io,
    (text) => notes.push(text),
    [],
  );
  return { sandbox: combined.sandbox, notes: notes.join('\n') };
}

const open = { mode: 'off', network: 'host', sufficient: true } as const;

describe('the sandbox of the settings', () => {
  it('is the one that the user says, and nothing when nobody says anything', async () => {
    expect((await sandbox({})).sandbox).toBeUndefined();
    expect((await sandbox({ user: open })).sandbox).toEqual(open);
  });

  it.each(['project', 'local'] as const)('is made stricter by the %s file, and never looser', async (file) => {
    const strict = { mode: 'read-only', required: true, network: 'none', sufficient: false };
    expect((await sandbox({ user: open, [file]: strict })).sandbox).toEqual(strict);
    expect((await sandbox({ user: strict, [file]: open })).sandbox).toEqual(strict);
    expect((await sandbox({ [file]: open })).sandbox).toEqual({
      mode: 'workspace-write',
      required: false,
      network: 'none',
      sufficient: false,
    });
  });

  it('is there when a folder wants one, although the user has none', async () => {
    const { sandbox: combined } = await sandbox({ user: { mode: 'off' }, project: { required: true } });
    expect(combined).toMatchObject({ mode: 'workspace-write', required: true });
  });

  it('says what of a project it left out, and knows nothing of a folder that nobody trusts', async () => {
    expect((await sandbox({ project: open })).notes).toContain(
      'sandbox.mode, sandbox.network, sandbox.sufficient left out',
    );
    expect((await sandbox({ project: { mode: 'read-only' } }, false)).sandbox).toBeUndefined();
  });

  it.each([{ mode: 'none' }, { required: 'yes' }, { moed: 'off' }, { mode: 'off', required: true }, { network: true }])(
    'is refused when it is %j',
    async (user) => {
      await expect(sandbox({ user })).rejects.toThrow(/sandbox/);
    },
  );
});
