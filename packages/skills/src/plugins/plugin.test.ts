import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { expandCommand, loadCommands, loadPlugin, loadSkills, pluginDigest } from '../index.ts';

async function world(files: Readonly<Record<string, unknown>>) {
  const top = await mkdtemp(join(tmpdir(), 'plugins-'));
  const path = join(top, 'Kit');
  const put = async (file: string, content: unknown): Promise<void> => {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), typeof content === 'string' ? content : JSON.stringify(content));
  };
  await mkdir(path);
  for (const [file, content] of Object.entries(files)) await put(file, content);
  return { path, top, put, [Symbol.asyncDispose]: () => rm(top, { recursive: true }) };
}

const SKILL = '---\nname: forms\ndescription: Fills forms.\n---\nFill.\n';
const HOOK = { matcher: 'Write', hooks: [{ type: 'command', command: '${CLAUDE_PLUGIN_ROOT}/check.sh' }] };

describe("a plugin in Claude Code's layout", () => {
  it('is loaded with all of its parts', async () => {
    await using w = await world({
      '.claude-plugin/plugin.json': {
        name: 'review-kit',
        version: '1.2.0',
        description: 'Reviews.',
        author: { name: 'Ada' },
        commands: ['./more/extra.md'],
        outputStyles: './styles',
      },
      'skills/forms/SKILL.md': SKILL,
      'commands/review.md': 'Review $1 with ${CLAUDE_PLUGIN_ROOT}/check.sh.\n',
      'more/extra.md': 'Extra.\n',
      'agents/reader.md': '---\nname: reader\ndescription: Reads.\n---\nRead.\n',
      'hooks/hooks.json': { description: 'Checks.', hooks: { PreToolUse: [HOOK] } },
      '.mcp.json': { mcpServers: { db: { command: '${CLAUDE_PLUGIN_ROOT}/server' } } },
    });
    const plugin = await loadPlugin(w.path);
    expect(plugin).toMatchObject({
      name: 'review-kit',
      version: '1.2.0',
      description: 'Reviews.',
      agents: [join(plugin.folder, 'agents/reader.md')],
      hooks: { PreToolUse: [HOOK] },
      mcpServers: { db: { command: '${CLAUDE_PLUGIN_ROOT}/server' } },
    });
    expect((await loadSkills(plugin.skills)).skills).toMatchObject([{ name: 'forms', source: 'plugin review-kit' }]);
    const commands = await loadCommands(plugin.commands);
    expect(commands.commands.map(({ name }) => name)).toEqual(['review-kit:extra', 'review-kit:review']);
    expect(expandCommand(commands, '/review a.ts')).toBe(`Review a.ts with ${plugin.folder}/check.sh.`);
    expect(plugin.problems.map(({ code, message }) => [code, message])).toEqual([
      ['unknown_key', 'outputStyles has no effect here'],
    ]);
  });

  it('needs no manifest, and may have its hooks and servers in it', async () => {
    await using bare = await world({ 'SKILL.md': SKILL });
    expect(await loadPlugin(bare.path)).toMatchObject({ name: 'kit', version: '', hooks: {}, mcpServers: {} });
    await using inline = await world({
      '.claude-plugin/plugin.json': { name: 'kit', hooks: { Stop: [HOOK] }, mcpServers: { a: { command: 'a' } } },
      '.mcp.json': { b: { command: 'b' } },
    });
    expect(await loadPlugin(inline.path)).toMatchObject({
      hooks: { Stop: [HOOK] },
      mcpServers: { a: { command: 'a' }, b: { command: 'b' } },
    });
  });

  it('has nothing from outside of its folder', async () => {
    await using w = await world({
      '.claude-plugin/plugin.json': { name: 'kit', commands: '../secrets', agents: './gone' },
      'commands/fine.md': 'Fine.\n',
    });
    await mkdir(join(w.top, 'secrets'));
    await writeFile(join(w.top, 'secrets/a.md'), 'canary');
    await writeFile(join(w.top, 'servers.json'), '{"mcpServers":{"evil":{"command":"canary"}}}');
    await symlink(join(w.top, 'secrets/a.md'), join(w.path, 'commands/linked.md'));
    await symlink(join(w.top, 'servers.json'), join(w.path, '.mcp.json'));
    const plugin = await loadPlugin(w.path);
    const { commands } = await loadCommands(plugin.commands);
    expect(commands.map(({ name }) => name)).toEqual(['kit:fine']);
    expect(plugin.mcpServers).toEqual({});
    expect(plugin.problems.map(({ message }) => message).toSorted()).toEqual([
      '.mcp.json leads outside the root folder through a symbolic link.',
      'agents: there is no ./gone',
      'commands: ../secrets leads out of it',
    ]);
  });

  it.each([
    ['an empty folder', {}, /is no plugin: it has no/],
    ['a broken manifest', { '.claude-plugin/plugin.json': '{' }, /is no plugin/],
    ['a name that is none', { '.claude-plugin/plugin.json': { name: '../x' } }, /"\.\.\/x" is no name/],
  ])('%s is none', async (_what, files, expected) => {
    await using w = await world(files);
    await expect(loadPlugin(w.path)).rejects.toMatchObject({
      code: 'invalid_definition',
      message: expect.stringMatching(expected) as string,
    });
  });
});

describe('the digest of a plugin', () => {
  it('changes with any path, content, permission or link, and not with .git', async () => {
    await using w = await world({ 'SKILL.md': SKILL, 'scripts/run.sh': 'echo 1\n' });
    const first = await pluginDigest(w.path);
    const seen = new Set([first]);
    const changes: readonly (() => Promise<void>)[] = [
      () => w.put('scripts/run.sh', 'echo 2\n'),
      () => chmod(join(w.path, 'scripts/run.sh'), 0o755),
      () => w.put('scripts/more.sh', ''),
      () => rm(join(w.path, 'SKILL.md')),
      () => symlink('/etc', join(w.path, 'agents')),
    ];
    for (const change of changes) {
      await change();
      seen.add(await pluginDigest(w.path));
    }
    expect(seen.size).toBe(6);
    const before = await pluginDigest(w.path);
    await w.put('.git/config', '[core]');
    expect(await pluginDigest(w.path)).toBe(before);
  });
});
