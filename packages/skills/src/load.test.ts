import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { loadSkills, mergeSkills, skillFolders } from './index.ts';
import { PUBLIC_SKILLS } from './test-support/public-skills.ts';

async function world() {
  const path = await mkdtemp(join(tmpdir(), 'skills-'));
  return {
    path,
    async put(file: string, text: string | Uint8Array): Promise<void> {
      await mkdir(dirname(join(path, file)), { recursive: true });
      await writeFile(join(path, file), text);
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}

const skillText = (name: string, description = 'Does things.', body = 'Do it.'): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`;

describe('twenty skills with the habits of public ones', () => {
  it('are each loaded, reported, or both', async () => {
    expect(PUBLIC_SKILLS).toHaveLength(20);
    await using w = await world();
    for (const { folder, files } of PUBLIC_SKILLS)
      for (const [path, text] of Object.entries(files)) await w.put(`${folder}/${path}`, text);
    const { skills, problems } = await loadSkills([w.path]);
    const outcome = PUBLIC_SKILLS.map(({ folder }) => ({
      folder,
      name: skills.find((skill) => skill.path.startsWith(join(w.path, folder, '/')))?.name ?? null,
      reported: problems.filter(({ path }) => path.startsWith(join(w.path, folder, '/'))).map(({ code }) => code),
    }));
    expect(outcome).toEqual(PUBLIC_SKILLS.map(({ folder, name, reported }) => ({ folder, name, reported })));
    for (const { path, severity } of problems) {
      const isLoaded = skills.some((skill) => skill.path === path);
      expect(severity).toBe(isLoaded ? 'warning' : 'error');
    }
  });

  it('have the descriptions and suggested rules that they were written with', async () => {
    await using w = await world();
    for (const { folder, files } of PUBLIC_SKILLS)
      for (const [path, text] of Object.entries(files)) await w.put(`${folder}/${path}`, text);
    const { skills } = await loadSkills([w.path]);
    const of = (name: string) => skills.find((skill) => skill.name === name);
    expect(of('web-review')?.description).toMatch(
      /^Review pages\. Triggers: "review my UI", .*Note: not for native apps\.$/,
    );
    expect(of('sql-tuning')?.description).toBe('Tune queries: plans, indexes and statistics: all of them.');
    expect(of('brand')?.description).toBe('*Always* use this for colours and type.');
    expect(of('2026')).toMatchObject({ description: '42', license: 'yes' });
    expect(of('acme-react-practices')?.metadata).toEqual({ author: 'acme', version: '1.0.0' });
    expect(of('deploy')?.suggestedRules).toEqual(['bash(git status:*)', 'bash(npm run build)', 'read_file']);
    expect(of('release-notes')?.suggestedRules).toEqual(['read_file', 'search']);
  });
});

describe('skills of several folders', () => {
  it('are found for user, project and packages; the later one of a name wins, with a warning', async () => {
    await using w = await world();
    await w.put('project/node_modules/@acme/kit/skills/kit/SKILL.md', skillText('kit'));
    await w.put('project/node_modules/one/SKILL.md', skillText('one'));
    await w.put('home/.claude/skills/a/SKILL.md', skillText('a', 'Of the user.'));
    await w.put('home/.agents/skills/b/SKILL.md', skillText('b'));
    await w.put('project/.agents/skills/a/SKILL.md', skillText('a', 'Of the project.'));
    await w.put('project/.treadle/skills/c/SKILL.md', skillText('c'));
    const from = join(w.path, 'project/src');
    const packages = ['@acme/kit', 'one', 'missing'].map((name) => ({ name, from }));
    const project = join(w.path, 'project');
    const { skills, problems } = await loadSkills(skillFolders({ home: join(w.path, 'home'), project, packages }));
    expect(skills.map(({ name, source }) => [name, source])).toEqual([
      ['a', 'project'],
      ['b', 'user'],
      ['c', 'project'],
      ['kit', '@acme/kit'],
      ['one', 'one'],
    ]);
    expect(skills[0]?.description).toBe('Of the project.');
    expect(problems).toMatchObject([{ severity: 'warning', code: 'shadowed' }]);
  });

  it('merge: the second set wins', async () => {
    await using w = await world();
    await w.put('x/a/SKILL.md', skillText('a', 'First.'));
    await w.put('y/a/SKILL.md', skillText('a', 'Second.'));
    const [first, second] = [await loadSkills([join(w.path, 'x')]), await loadSkills([join(w.path, 'y')])];
    expect(mergeSkills(first, second).skills.map(({ description }) => description)).toEqual(['Second.']);
  });

  it('may be links to one another, without a warning', async () => {
    await using w = await world();
    await w.put('.agents/skills/a/SKILL.md', skillText('a'));
    await mkdir(join(w.path, '.claude/skills'), { recursive: true });
    await symlink('../../.agents/skills/a', join(w.path, '.claude/skills/a'));
    const { skills, problems } = await loadSkills(skillFolders({ project: w.path }));
    expect([skills.length, problems]).toEqual([1, []]);
  });
});

describe('a hostile folder', () => {
  it('reads nothing outside the project, whatever it links to', async () => {
    await using w = await world();
    await w.put('secret/SKILL.md', skillText('secret'));
    await w.put('secret/key', skillText('key'));
    await w.put('project/.agents/skills/inner/other', '');
    await symlink('../../../secret', join(w.path, 'project/.agents/skills/outer'));
    await symlink('../../../../secret/key', join(w.path, 'project/.agents/skills/inner/SKILL.md'));
    const { skills, problems } = await loadSkills(skillFolders({ project: join(w.path, 'project') }));
    expect(skills).toEqual([]);
    expect(problems.map(({ code }) => code)).toEqual(['unreadable', 'unreadable']);
  });

  it('of loops, huge files, binaries and YAML bombs is reported', async () => {
    await using w = await world();
    await w.put('huge/SKILL.md', Buffer.alloc(2_000_000, 'a'));
    await w.put('binary/SKILL.md', Uint8Array.from([0xff, 0xfe, 0]));
    await w.put('bomb/SKILL.md', '---\na: &a [x, x]\nb: &b [*a, *a]\ndescription: [*b, *b]\nname: bomb\n---\n');
    await w.put('loop/deep/file', '');
    await symlink('..', join(w.path, 'loop/deep/again'));
    const { skills, problems } = await loadSkills([w.path]);
    expect(skills).toEqual([]);
    expect(problems.map(({ severity, code }) => [severity, code])).toEqual([
      ['error', 'no_skill_file'],
      ['error', 'unreadable'],
      ['error', 'bad_front_matter'],
      ['error', 'unreadable'],
    ]);
  });
});
