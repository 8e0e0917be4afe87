import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { findFolderSettings, trustFolder } from '../../settings/combine.ts';
import { temporaryFolder } from '../../test-support/harness.ts';
import type { CliIo } from '../io.ts';
import { openApprovals } from '../mcp/approvals.ts';
import type { ContentKind } from './folder-contents.ts';
import { folderTrust } from './folder-trust.ts';

const ALL: readonly ContentKind[] = ['settings', 'hooks', 'skills', 'commands', 'agents', 'MCP servers'];
const HOOKS = { PreToolUse: [{ matcher: 'bash', hooks: [{ type: 'command', command: './check.sh' }] }] };
const server = (command: string): string => JSON.stringify({ mcpServers: { files: { command } } });

const swap = (text: string): string => text.replace('check.sh', 'evil.sh');

async function world({ inHome = false } = {}) {
  const home = await temporaryFolder();
  const folder = inHome ? home.path : join(home.path, 'project');
  const io = { env: { HOME: home.path }, cwd: folder } as unknown as CliIo;
  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  await put('.treadle/settings.json', JSON.stringify({ hooks: HOOKS }));
  await put('.claude/skills/review/SKILL.md', 'not even read');
  await put('.treadle/commands/deploy.md', 'not even read');
  await put('.treadle/agents/helper.md', 'not even read');
  await put('.mcp.json', server('node evil.mjs'));
  return {
    put,
    io,
    folder,
    record: join(home.path, '.config/treadle/trusted-folders.json'),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
    /** One start of the program. @param answer null where there is no terminal */
    async start(answer: string | null, wants = ALL, meanwhile?: () => Promise<void>) {
      const questions: string[] = [];
      const notes: string[] = [];
      const ask = async (question: string): Promise<string | null> => {
        questions.push(question);
        if (questions.length === 1) await meanwhile?.();
        return answer;
      };
      const terminal = { isThere: answer !== null, ask, askSecret: ask };
      const { isTrusted } = await folderTrust(folder, io, {
        trust: false,
        wants,
        terminal,
        stopped: new Promise(() => {}),
        note: (text) => notes.push(text),
      });
      return { questions, notes, isTrusted };
    },
  };
}

describe('a folder that has not been trusted', () => {
  it('is asked about once, with all that it would load', async () => {
    await using w = await world();
    const { questions, notes, isTrusted } = await w.start('y');
    expect(questions).toHaveLength(1);
    for (const line of [
      'settings, .treadle/settings.json:\n',
      'hooks, .treadle/settings.json:\n  PreToolUse (bash): ./check.sh\n',
      'skills, .claude/skills:\n  review\n',
      'commands, .treadle/commands:\n  deploy.md\n',
      'agents, .treadle/agents:\n  helper.md\n',
      'MCP servers, .mcp.json:\n  files: node evil.mjs\n',
    ])
      expect(questions[0]).toContain(line);
    expect([isTrusted, notes]).toEqual([true, []]);
    expect(await w.start('n')).toEqual({ questions: [], notes: [], isTrusted: true });
  });

  it('approves the MCP servers that were listed, as they were', async () => {
    await using w = await world();
    await w.start('y');
    const approvals = await openApprovals(w.folder, w.io);
    const { projectServers } = await import('../mcp/servers.ts');
    const [listed] = await projectServers(w.folder, w.io, () => {});
    await w.put('.mcp.json', server('node other.mjs'));
    const [changed] = await projectServers(w.folder, w.io, () => {});
    expect([listed, changed].map((one) => approvals.has('files', one?.digest ?? ''))).toEqual([true, false]);
  });

  it('is not asked about again after a no, until it has something else', async () => {
    await using w = await world();
    expect((await w.start('n')).questions).toHaveLength(1);
    const again = await w.start('y');
    expect(again).toMatchObject({ questions: [], isTrusted: false });
    expect(again.notes).toHaveLength(1);
    await w.put('.claude/skills/other/SKILL.md', 'new');
    expect(await w.start('y')).toMatchObject({ isTrusted: true, notes: [] });
  });

  it('asks again when the answer was none, and loads nothing meanwhile', async () => {
    await using w = await world();
    expect(await w.start('')).toMatchObject({ isTrusted: false });
    expect((await w.start('')).questions).toHaveLength(1);
  });

  it('loads nothing without a terminal, and says so in one line', async () => {
    await using w = await world();
    expect(await w.start(null)).toEqual({
      questions: [],
      isTrusted: false,
      notes: [
        '.treadle/settings.json, .claude/skills, .treadle/commands, .treadle/agents, .mcp.json left alone: ' +
          'nobody has trusted this folder. --trust does. [folder_not_trusted]',
      ],
    });
    expect((await w.start(null, ['agents'])).notes[0]).toMatch(/^\.treadle\/agents left alone/);
  });

  it('shows what only clients of the Claude Agent SDK have read: a yes trusts it too', async () => {
    await using w = await world();
    await w.put('.claude/settings.json', JSON.stringify({ hooks: HOOKS }));
    await w.put('.claude/settings.local.json', '{"permissions":{"allow":["Bash"]}}');
    await w.put('.claude/output-styles/terse.md', 'not even read');
    const { questions } = await w.start('y');
    for (const line of [
      'SDK settings, .claude/settings.json:\n  {"hooks"',
      'SDK hooks, .claude/settings.json:\n  PreToolUse (bash): ./check.sh\n',
      'SDK settings, .claude/settings.local.json:\n  {"permissions":{"allow":["Bash"]}}\n',
      'output styles, .claude/output-styles:\n  terse.md\n',
    ])
      expect(questions[0]).toContain(line);
  });

  it.each([
    ['.claude/settings.json', JSON.stringify({ hooks: HOOKS })],
    ['.treadle/settings.json', JSON.stringify({ hooks: HOOKS })],
    ['.claude/skills/review/SKILL.md', 'Run check.sh.'],
  ])('is asked about again when %s is swapped between question and answer', async (path, text) => {
    await using w = await world();
    await w.put(path, text);
    const { questions, isTrusted } = await w.start('y', ALL, () => w.put(path, swap(text)));
    expect([questions.length, isTrusted]).toEqual([2, true]);
    const { pins, state } = await findFolderSettings(w.folder, w.io);
    const { folders } = JSON.parse(await readFile(w.record, 'utf8')) as {
      folders: Record<string, { others: unknown }>;
    };
    expect([folders[w.folder]?.others, state]).toEqual([pins, 'trusted']);
  });

  it('is trusted as it was looked at, whatever took its place since', async () => {
    await using w = await world();
    const found = await findFolderSettings(w.folder, w.io);
    await w.put('.treadle/agents/helper.md', 'Another one.');
    await trustFolder(found);
    expect((await w.start(null)).notes).toEqual([expect.stringContaining('[folder_changed]')]);
  });

  it('shows what could not be told apart by the eye as escapes', async () => {
    await using w = await world();
    await w.put('.mcp.json', server('node \u202ezrs.mjs\u001b[2J'));
    await w.put('.claude/skills/a\u200bb/SKILL.md', '');
    const { questions } = await w.start('n');
    expect(questions[0]).toContain(String.raw`node \u{202e}zrs.mjs\u{1b}[2J`);
    expect(questions[0]).toContain(String.raw`a\u{200b}b`);
  });
});

describe('a folder that has been trusted', () => {
  it.each(['.claude/skills/review/run.sh', '.agents/skills/a/SKILL.md', '.treadle/commands/deploy.md'])(
    'is asked about again when there is another %s',
    async (path) => {
      await using w = await world();
      await w.start('y');
      await w.put(path, 'Send it.');
      const there = path.split('/').slice(0, 2).join('/');
      const alone = await w.start(null);
      expect(alone.isTrusted).toBe(false);
      expect(alone.notes).toEqual([
        expect.stringMatching(/left alone: .*--trust trusts it as it is now. \[folder_changed\]$/),
      ]);
      expect(alone.notes[0]).toContain(`${there}: it `);
      const { questions, isTrusted } = await w.start('y');
      expect([questions.length, isTrusted]).toEqual([1, true]);
      expect(questions[0]).toContain(`is not as you trusted it (${there}: it `);
      // What acts already is listed, too: all of it is trusted again.
      expect(questions[0]).toContain('hooks, .treadle/settings.json:');
      expect(await w.start('n')).toEqual({ questions: [], notes: [], isTrusted: true });
    },
  );

  it.each(['.claude/agents/helper.md', '.treadle/agents/helper.md'])('is asked about again for %s', async (path) => {
    await using w = await world();
    await w.put(path, 'Help.');
    await w.start('y');
    await w.put(path, 'Send it.');
    const { questions } = await w.start('n');
    expect(questions[0]).toContain(`${dirname(path)}: it changed since this folder was trusted`);
    expect(await w.start('y')).toMatchObject({ questions: [], isTrusted: false });
  });

  it('keeps trust while nothing that runs read has changed', async () => {
    await using w = await world();
    await w.start('y');
    await w.put('.claude/settings.local.json', '{}');
    await w.put('.claude/output-styles/terse.md', 'Be terse.');
    await rm(join(w.folder, '.claude/skills'), { recursive: true });
    expect(await w.start('n')).toEqual({ questions: [], notes: [], isTrusted: true });
  });

  it('is asked about when it was trusted before anything but settings was compared', async () => {
    await using w = await world();
    await w.start('y');
    const record = JSON.parse(await readFile(w.record, 'utf8')) as { folders: Record<string, { others?: unknown }> };
    delete record.folders[w.folder]?.others;
    await writeFile(w.record, JSON.stringify(record));
    expect((await w.start('y')).questions[0]).toContain('.claude/skills: it is not among what was trusted');
  });

  it('is asked about when a link that led nowhere leads somewhere', async () => {
    await using w = await world();
    await symlink('../../target', join(w.folder, '.claude/skills/lock'));
    await w.start('y');
    expect((await w.start('')).isTrusted).toBe(true);
    await w.put('target', 'Send it.');
    expect((await w.start('')).questions[0]).toContain('.claude/skills: it changed');
  });

  // The file says that it is empty, and is very long.
  it.skipIf(process.platform !== 'linux')('reads no more than it may of files that have no end', async () => {
    await using w = await world();
    const endless = '/proc/self/pagemap';
    await symlink(endless, join(w.folder, '.claude/settings.json'));
    await symlink(endless, join(w.folder, '.agents'));
    await symlink(endless, join(w.folder, '.claude/skills/endless'));
    const { questions } = await w.start('y');
    expect(questions[0]).toContain('SDK settings, .claude/settings.json:\n  (it can’t be read)\n');
    expect((await w.start('')).questions[0]).toContain('.claude/skills: it is too large to notice changes');
    await rm(join(w.folder, '.treadle'), { recursive: true });
    await mkdir(join(w.folder, '.treadle'));
    await symlink(endless, join(w.folder, '.treadle/settings.json'));
    await expect(w.start('y')).rejects.toThrow(/settings\.json can't be read: it is larger than 1000000 bytes/);
  });

  it('is asked about each time when it has too much to notice changes, which is found soon', async () => {
    await using w = await world();
    for (let link = 0; link < 10; link += 1) await symlink('.', join(w.folder, '.claude/skills', `${link}`));
    expect((await w.start('y')).isTrusted).toBe(true);
    const { questions, notes } = await w.start('');
    expect(questions[0]).toContain('.claude/skills: it is too large to notice changes of it');
    expect(notes[0]).toContain('[folder_changed]');
  });

  it('is not asked about for what is the user’s own, in the home folder', async () => {
    await using w = await world({ inHome: true });
    const { questions } = await w.start('y');
    expect(questions[0]).not.toContain('skills,');
    for (const path of ['.claude/skills/mine/SKILL.md', '.treadle/commands/mine.md', '.claude/agents/mine.md'])
      await w.put(path, 'My own.');
    expect(await w.start('n')).toEqual({ questions: [], notes: [], isTrusted: true });
  });
});
