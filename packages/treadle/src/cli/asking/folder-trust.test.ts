import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { temporaryFolder } from '../../test-support/harness.ts';
import type { CliIo } from '../io.ts';
import { openApprovals } from '../mcp/approvals.ts';
import type { ContentKind } from './folder-contents.ts';
import { folderTrust } from './folder-trust.ts';

const ALL: readonly ContentKind[] = ['settings', 'hooks', 'skills', 'commands', 'agents', 'MCP servers'];
const HOOKS = { PreToolUse: [{ matcher: 'bash', hooks: [{ type: 'command', command: './check.sh' }] }] };
const server = (command: string): string => JSON.stringify({ mcpServers: { files: { command } } });

async function world() {
  const home = await temporaryFolder();
  const folder = join(home.path, 'project');
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
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
    /** One start of the program. @param answer null where there is no terminal */
    async start(answer: string | null, wants = ALL) {
      const questions: string[] = [];
      const notes: string[] = [];
      const ask = async (question: string): Promise<string | null> => {
        questions.push(question);
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
          'nobody has trusted this folder. --trust does.',
      ],
    });
    expect((await w.start(null, ['agents'])).notes[0]).toMatch(/^\.treadle\/agents left alone/);
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
