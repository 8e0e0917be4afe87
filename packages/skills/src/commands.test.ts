import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { commandFolders, expandCommand, loadCommands } from './index.ts';

async function world(files: Readonly<Record<string, string>>) {
  const path = await mkdtemp(join(tmpdir(), 'commands-'));
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

describe('the Markdown files of a folder', () => {
  it('are commands with what their front matter says', async () => {
    await using w = await world({
      'review.md':
        '---\ndescription: Reviews: a change.\nargument-hint: [file] [words]\nallowed-tools: Bash(git diff:*), Read\n---\nReview $1.\n',
      'db/migrate.md': '# Migrate the database\n\nGo.\n',
      'notes.txt': 'None.',
    });
    const { commands, problems } = await loadCommands([{ path: w.path, source: 'mine' }]);
    expect(problems).toEqual([]);
    expect(commands).toMatchObject([
      { name: 'db:migrate', description: 'Migrate the database', argumentHint: '', suggestedRules: [] },
      {
        name: 'review',
        description: 'Reviews: a change.',
        argumentHint: '[file] [words]',
        source: 'mine',
        suggestedRules: ['bash(git diff:*)', 'read_file'],
      },
    ]);
  });

  it('keep a hint that YAML takes for a list', async () => {
    await using w = await world({ 'a.md': '---\nargument-hint: [message]\n---\nSay it.\n' });
    expect((await loadCommands([w.path])).commands[0]?.argumentHint).toBe('[message]');
  });

  it('are loaded with their flaws, or reported', async () => {
    await using w = await world({
      'model.md': '---\nmodel: opus\ncolor: red\n---\nGo.\n',
      'runs.md': 'Status: !`git status`\n',
      'empty.md': '---\ndescription: Nothing.\n---\n',
      'broken.md': '---\nmetadata:\n\t- [a\n---\nGo.\n',
      'bad name.md': 'Go.\n',
    });
    const { commands, problems } = await loadCommands([w.path]);
    expect(commands.map(({ name }) => name)).toEqual(['model', 'runs']);
    expect(problems.map(({ severity, code, path }) => [severity, code, path.slice(w.path.length + 1)])).toEqual([
      ['error', 'bad_name', 'bad name.md'],
      ['error', 'bad_front_matter', 'broken.md'],
      ['error', 'bad_description', 'empty.md'],
      ['warning', 'unknown_key', 'model.md'],
      ['warning', 'not_run', 'runs.md'],
    ]);
    expect(problems[3]?.message).toBe('model, color has no effect here');
  });

  it('are replaced by those of later folders, with a warning', async () => {
    await using w = await world({
      'home/.claude/commands/a.md': 'First.',
      'home/.treadle/commands/b.md': 'Mine.',
      'here/.treadle/commands/a.md': 'Second.',
    });
    const folders = commandFolders({ home: join(w.path, 'home'), project: join(w.path, 'here') });
    const { commands, problems } = await loadCommands(folders);
    expect(commands.map(({ name, source, expand }) => [name, source, expand('')])).toEqual([
      ['a', 'project', 'Second.'],
      ['b', 'user', 'Mine.'],
    ]);
    expect(problems).toMatchObject([{ code: 'shadowed', path: expect.stringContaining('home') as string }]);
  });

  it('are never files outside of the project', async () => {
    await using w = await world({ 'secret.md': 'canary', 'here/.claude/commands/fine.md': 'Fine.' });
    const folder = join(w.path, 'here/.claude/commands');
    await symlink(join(w.path, 'secret.md'), join(folder, 'linked.md'));
    await link(join(w.path, 'secret.md'), join(folder, 'hard.md'));
    await symlink(w.path, join(folder, 'up'));
    const { commands, problems } = await loadCommands(commandFolders({ project: join(w.path, 'here') }));
    expect(commands.map(({ name }) => name)).toEqual(['fine']);
    expect(problems.map(({ code }) => code)).toEqual(['unreadable', 'unreadable']);
  });
});

describe('a command with arguments', () => {
  const expanded = async (text: string, prompt: string) => {
    await using w = await world({ 'do.md': text });
    const set = await loadCommands([{ path: w.path, variables: { ROOT: '/plugin' } }]);
    return expandCommand(set, prompt);
  };

  it.each([
    ['Fix $ARGUMENTS now.', '/do the two  bugs', 'Fix the two  bugs now.'],
    ['From $1 to $2, not $3.', '/do a "b c"', 'From a to b c, not .'],
    ['Fix it.', '/do all', 'Fix it.\n\nARGUMENTS: all'],
    ['Fix it.', '/do', 'Fix it.'],
    ['It costs $100 and $$.', '/do', 'It costs $100 and $$.'],
    ['Say $1.', "/do '$ARGUMENTS $2'", 'Say $ARGUMENTS $2.'],
    ['See ${ROOT}/a and ${HOME}.', '/do', 'See /plugin/a and ${HOME}.'],
    ['Read: $ARGUMENTS', '/do one\ntwo', 'Read: one\ntwo'],
  ])('%s %s: %s', async (text, prompt, expected) => {
    expect(await expanded(text, prompt)).toBe(expected);
  });

  it.each(['/other', 'do', 'please /do', '/do/it', '/'])('is not meant by %s', async (prompt) => {
    expect(await expanded('Go.', prompt)).toBeNull();
  });

  it('is found without its namespace where only one has the name', async () => {
    await using w = await world({ 'one/go.md': 'One.', 'two/go.md': 'Two.', 'two/run.md': 'Run.' });
    const set = await loadCommands([{ path: w.path, namespace: 'kit' }]);
    expect(expandCommand(set, '/run')).toBe('Run.');
    expect(expandCommand(set, '/kit:two:go')).toBe('Two.');
    expect(expandCommand(set, '/go')).toBeNull();
  });
});
