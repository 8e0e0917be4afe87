import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../test-support/harness.ts';
import { startCommand } from '../test-support/process.ts';
import { settingsSaver } from './save.ts';
import { openTrust } from './trust.ts';

const trusted = { trusted: true, project: null, local: null };

describe('settings that many processes change', () => {
  it('S8: lose no folder that was trusted, of forty at the same time in two processes', async () => {
    await using folder = await temporaryFolder();
    const module = pathToFileURL(join(import.meta.dirname, 'trust.ts')).href;
    const script = `
      const { openTrust } = await import(${JSON.stringify(module)});
      const [config, name] = process.argv.slice(1);
      const store = await openTrust(config);
      const record = ${JSON.stringify(trusted)};
      await Promise.all(Array.from({ length: 20 }, (_, index) => store.set(name + index, record)));`;
    const start = (name: string) =>
      startCommand(
        process.execPath,
        ['--conditions=treadle-source', '--input-type=module', '-e', script, '--', folder.path, name],
        { cwd: join(import.meta.dirname, '../..') },
      ).ended;
    for (const ended of await Promise.all([start('/a'), start('/b')]))
      expect(ended).toMatchObject({ code: 0, stderr: '' });
    const { folders } = JSON.parse(await readFile(join(folder.path, 'trusted-folders.json'), 'utf8')) as {
      folders: Record<string, unknown>;
    };
    expect(Object.keys(folders)).toHaveLength(40);
    expect(await readdir(folder.path)).toEqual(['trusted-folders.json']);
  });

  it('S8: lose no rule that was kept, by any of many sessions', async () => {
    await using folder = await temporaryFolder();
    const io = { env: { HOME: folder.path, XDG_CONFIG_HOME: folder.path }, cwd: folder.path };
    const trust = await openTrust(join(folder.path, 'treadle'));
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        settingsSaver(
          { folder: folder.path, trust },
          io,
        )({ type: 'addRules', behavior: 'allow', rules: [`tool_${index}`], destination: 'userSettings' }),
      ),
    );
    const settings = JSON.parse(await readFile(join(folder.path, 'treadle', 'settings.json'), 'utf8')) as {
      permissions: { allow: string[] };
    };
    expect(settings.permissions.allow.toSorted()).toEqual(
      Array.from({ length: 20 }, (_, index) => `tool_${index}`).toSorted(),
    );
  });
});
