import type { FileUpdate } from '@treadle/core/permissions';

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { claudeSettingsSaver } from '../agent-sdk/settings/save.ts';
import { temporaryFolder } from '../test-support/harness.ts';
import { findFolderSettings, trustFolder } from './combine.ts';
import { settingsSaver } from './save.ts';

type Given = Pick<FileUpdate, 'type'> & {
  readonly rules?: readonly string[];
  readonly directories?: readonly string[];
};

/** A trusted folder with these permissions in one of its files, or the user's; and a saver for that file. */
async function fileWith(permissions: object, { sdk = false, user = false } = {}) {
  const at = await temporaryFolder();
  const folder = join(at.path, 'project');
  const io = { env: { HOME: at.path }, cwd: folder };
  const [ofUser, ofFolder] = sdk
    ? ['.claude/settings.json', '.claude/settings.local.json']
    : ['.config/treadle/settings.json', '.treadle/settings.local.json'];
  const path = user ? join(at.path, ofUser) : join(folder, ofFolder);
  await mkdir(join(path, '..'), { recursive: true });
  await mkdir(folder, { recursive: true });
  await writeFile(path, JSON.stringify({ permissions }));
  const found = await findFolderSettings(folder, io);
  await trustFolder(found);
  const save = sdk
    ? claudeSettingsSaver({ io, folder, sources: { found }, wanted: ['user', 'local'] })
    : settingsSaver(found, io);
  const destination = user ? 'userSettings' : 'localSettings';
  return {
    home: at.path,
    folder,
    save: (update: Given) => save({ behavior: 'allow', ...update, destination } as FileUpdate),
    permissions: async () =>
      (JSON.parse(await readFile(path, 'utf8')) as { permissions: Record<string, unknown> }).permissions,
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

describe('rules that are taken out of a settings file', () => {
  it.each([
    ['/src/**', 'project/src/**', false],
    ['~/notes/**', 'notes/**', false],
    ['/src/**', '.claude/src/**', true],
  ])('are found however a file of Claude Code writes them: Read(%s)', async (written, meant, user) => {
    await using file = await fileWith({ allow: [`Read(${written})`, 'Bash(make)'] }, { sdk: true, user });
    await file.save({ type: 'removeRules', rules: [`read_file(${join(file.home, meant)})`] });
    expect(await file.permissions()).toEqual({ allow: ['Bash(make)'] });
    await file.save({ type: 'removeRules', rules: ['bash(make)'] });
    expect(await file.permissions()).toEqual({ allow: [] });
  });

  it.each(['read_file(~/notes/**)', 'Read(~/notes/**)'])(
    'are found however a file of ours writes them: %s',
    async (written) => {
      await using file = await fileWith({ allow: [written, { rule: 'bash(make)', match: ['make'] }] }, { user: true });
      await file.save({ type: 'removeRules', rules: [`read_file(${file.home}/notes/**)`] });
      await file.save({ type: 'removeRules', rules: ['Bash(make)'] });
      expect(await file.permissions()).toEqual({ allow: [] });
    },
  );

  it.each([true, false])('are missed aloud when the file has no such rule (Claude Code: %s)', async (sdk) => {
    await using file = await fileWith({ allow: ['read_file(src/**)'] }, { sdk });
    const rules = ['read_file(src/**)', 'read_file(/elsewhere/**)'];
    await expect(file.save({ type: 'removeRules', rules })).rejects.toThrow(
      'there is no rule of allow read_file(/elsewhere/**) to remove',
    );
    expect(await file.permissions()).toEqual({ allow: ['read_file(src/**)'] });
  });
});

describe('what is added to a settings file', () => {
  it.each([true, false])('is not added twice in two spellings (Claude Code: %s)', async (sdk) => {
    await using file = await fileWith({ allow: ['Read(~/notes/**)'] }, { sdk });
    await file.save({ type: 'addRules', rules: [`read_file(${file.home}/notes/**)`, 'bash(make)'] });
    expect(await file.permissions()).toEqual({ allow: ['Read(~/notes/**)', sdk ? 'Bash(make)' : 'bash(make)'] });
    await file.save({ type: 'replaceRules', rules: ['bash(make)'] });
    expect(await file.permissions()).toEqual({ allow: [sdk ? 'Bash(make)' : 'bash(make)'] });
  });
});

it.each([true, false])('folders are taken out of a settings file as they are meant (Claude Code: %s)', async (sdk) => {
  await using file = await fileWith({ additionalDirectories: ['~/data', '/other'] }, { sdk });
  const data = join(file.home, 'data');
  await file.save({ type: 'addDirectories', directories: [data, '/more'] });
  await file.save({ type: 'removeDirectories', directories: [data] });
  expect(await file.permissions()).toEqual({ additionalDirectories: ['/other', '/more'] });
  await expect(file.save({ type: 'removeDirectories', directories: [data] })).rejects.toThrow('to remove');
});

describe('the first rule that is kept for a folder', () => {
  it('is left alone by Git, as a person’s own, and no .gitignore that is there is changed', async () => {
    await using at = await temporaryFolder();
    const io = { env: { HOME: at.path }, cwd: at.path };
    const update = { type: 'addRules', behavior: 'allow', rules: ['bash(ls)'], destination: 'localSettings' } as const;
    const keep = async (folder: string): Promise<void> =>
      settingsSaver(await findFolderSettings(folder, io), io)(update);
    const ignored = (folder: string): Promise<string> => readFile(join(folder, '.treadle/.gitignore'), 'utf8');
    const [first, second] = [join(at.path, 'first'), join(at.path, 'second')];
    await mkdir(first);
    await keep(first);
    expect(await ignored(first)).toBe('settings.local.json\n.gitignore\n');
    await mkdir(join(second, '.treadle'), { recursive: true });
    await writeFile(join(second, '.treadle/.gitignore'), 'mine\n');
    await keep(second);
    expect(await ignored(second)).toBe('mine\n');
  });
});
