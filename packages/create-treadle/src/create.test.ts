import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { PassThrough } from 'node:stream';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { readArguments } from './arguments.ts';
import { ownVersion, writeProject } from './project.ts';
import { complete } from './questions.ts';
import { isTemplate, TEMPLATES } from './templates.ts';

let place = '';

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'create-treadle-'));
});

afterEach(() => rm(place, { recursive: true, force: true }));

const names = Object.keys(TEMPLATES).filter(isTemplate);

describe('the arguments', () => {
  it('name the folder and the template', () => {
    const given = readArguments(['my-chat', '--template', 'chat-hono', '--yes', '--no-install']);
    expect(given).toEqual({ folder: 'my-chat', template: 'chat-hono', yes: true, help: false, install: false });
  });

  it.each([
    [['--template', 'chat'], 'There is no template chat. Choose one of: terminal, chat-next, chat-hono, postgres.'],
    [['--templat', 'terminal'], "Unknown option '--templat'"],
    [['one', 'two'], 'Expected one folder, and got one, two.'],
  ])('are refused: %j', (args, message) => {
    expect(() => readArguments(args)).toThrow(message);
  });
});

describe('the questions', () => {
  /** A person who types these lines, and everything they were shown. */
  function person(...lines: string[]) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const terminal = createInterface({ input, output });
    let shown = '';
    output.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
      // Each question gets the next line.
      if (chunk.toString().endsWith(': ')) input.write(`${lines.shift() ?? ''}\n`);
    });
    return { terminal, shown: () => shown };
  }

  const nothing = { yes: false, help: false };

  it('are three, and have defaults', async () => {
    const { terminal, shown } = person('', '', '');
    expect(await complete(nothing, terminal)).toEqual({ folder: 'my-agent', template: 'terminal', install: true });
    expect(shown().match(/: /g)).toHaveLength(3);
  });

  it('take a template by its number or its name, and ask again for anything else', async () => {
    expect(await complete(nothing, person('here', '2', 'n').terminal)).toEqual({
      folder: 'here',
      template: 'chat-next',
      install: false,
    });
    expect(await complete(nothing, person('', '9', 'postgres', '').terminal)).toMatchObject({ template: 'postgres' });
  });

  it('are not asked for what the arguments say, nor with --yes, nor without a terminal', async () => {
    const given = { ...nothing, folder: 'a', template: 'postgres', install: false } as const;
    expect(await complete(given, person().terminal)).toEqual({ folder: 'a', template: 'postgres', install: false });
    expect(await complete({ ...nothing, yes: true }, person().terminal)).toMatchObject({ template: 'terminal' });
    expect(await complete(nothing, null)).toMatchObject({ folder: 'my-agent' });
  });
});

describe.each(names)('a project of the template %s', (template) => {
  it('is named after its folder, and pins Treadle to this version', async () => {
    const path = await writeProject(join(place, 'My Agent'), template);
    const text = await readFile(join(path, 'package.json'), 'utf8');
    const { name, dependencies } = JSON.parse(text) as { name: string; dependencies: Record<string, string> };
    expect(name).toBe('my-agent');
    expect(dependencies['treadle']).toBe(await ownVersion());
    expect(text).not.toContain('0.0.0-treadle');
  });

  it('has a README, tests, and files that git ignores', async () => {
    const path = await writeProject(join(place, 'agent'), template);
    const files = await readdir(path, { recursive: true });
    expect(files).toEqual(expect.arrayContaining(['README.md', '.gitignore', 'tsconfig.json']));
    expect(files.filter((file) => file.endsWith('.test.ts'))).not.toEqual([]);
    expect(files).not.toContain('_gitignore');
  });
});

describe('a folder', () => {
  it('that has files is refused, and nothing is written', async () => {
    await writeFile(join(place, 'mine.txt'), 'mine');
    await expect(writeProject(place, 'terminal')).rejects.toThrow('is not empty. Choose another folder.');
    expect(await readdir(place)).toEqual(['mine.txt']);
  });

  it('whose name no package can have is refused, and not made', async () => {
    await expect(writeProject(join(place, '...'), 'terminal')).rejects.toThrow('No package can be named after');
    expect(await readdir(place)).toEqual([]);
  });
});
