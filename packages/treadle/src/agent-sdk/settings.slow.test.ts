// @module-tag slow

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { Json } from '../test-support/agent-sdk/client.ts';
import { all, world } from '../test-support/agent-sdk/world.ts';
import { trustFolder, findFolderSettings } from '../settings/combine.ts';

/** Writes files below a folder, JSON or text. */
async function files(folder: string, contents: Readonly<Record<string, unknown>>): Promise<void> {
  for (const [path, content] of Object.entries(contents)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
}

const trust = async ({ folder, home }: { readonly folder: string; readonly home: string }): Promise<void> =>
  void (await trustFolder(await findFolderSettings(folder, { env: { HOME: home }, cwd: folder })));

const init = (messages: readonly Json[]): Json => messages.find(({ subtype }) => subtype === 'init') ?? {};
const result = (messages: readonly Json[]): Json => messages.at(-1) ?? {};
const READS = { toolCalls: [{ name: 'read_file', arguments: { path: 'secret.txt' } }] };

const PARTS = {
  '.claude/settings.json': { permissions: { deny: ['Read(secret.txt)'] }, outputStyle: 'Terse', somethingElse: 1 },
  '.claude/agents/reader.md': '---\nname: reader\ndescription: Reads.\n---\nYou read.',
  '.claude/skills/fruit/SKILL.md': '---\nname: fruit\ndescription: About fruit.\n---\nEat it.',
  '.claude/commands/pick.md': 'Pick a $ARGUMENTS.',
  '.claude/output-styles/terse.md': '---\nname: Terse\n---\nUse few words.',
};

describe('--setting-sources', () => {
  it('reads nothing unless it is asked to', { tags: ['share'] }, async () => {
    await using w = await world(['Hello.']);
    await files(w.folder, PARTS);
    await files(w.home, PARTS);
    await trust(w);
    const messages = await all(w.drive('/pick plum'));
    expect(init(messages)).toMatchObject({
      agents: [],
      skills: [],
      slash_commands: ['compact', 'clear'],
      output_style: 'default',
    });
  });

  it("reads the user's own, and says what it doesn't understand", async () => {
    await using w = await world([READS, 'Done.']);
    await files(w.home, PARTS);
    await files(w.home, { '.claude/settings.json': { permissions: { deny: ['Read'] }, somethingElse: 1 } });
    await writeFile(join(w.folder, 'secret.txt'), 'plum\n');
    const running = w.drive('/pick plum', { settingSources: ['user'] });
    const messages = await all(running);
    expect(init(messages)).toMatchObject({
      agents: ['reader'],
      skills: ['fruit'],
      slash_commands: ['compact', 'clear', 'pick'],
    });
    expect(init(messages)['tools']).not.toContain('Read');
    expect(JSON.stringify(w.provider.requests[0]?.body)).toContain('Pick a plum.');
    expect((await running.ended).stderr).toContain('somethingElse has no effect here');
  });

  it("leaves a project's alone that nobody has trusted, and says so", async () => {
    await using w = await world([READS, 'Done.']);
    await files(w.folder, { ...PARTS, 'secret.txt': 'plum' });
    const running = w.drive('Read.', { settingSources: ['project'] });
    const messages = await all(running);
    expect(init(messages)).toMatchObject({ agents: [], skills: [] });
    expect(result(messages)['permission_denials']).toEqual([]);
    expect((await running.ended).stderr).toContain('nobody has trusted this folder');
  });

  it("lets a trusted project's deny, choose a style, and run hooks", async () => {
    await using w = await world([
      READS,
      { toolCalls: [{ name: 'read_file', arguments: { path: 'open.txt' } }] },
      'Done.',
    ]);
    const log = join(w.home, 'hooks.log');
    const command = `cat >> "$CLAUDE_PROJECT_DIR/../home/hooks.log"`;
    await files(w.folder, { ...PARTS, 'secret.txt': 'plum', 'open.txt': 'pear' });
    await files(w.folder, {
      '.claude/settings.json': {
        ...PARTS['.claude/settings.json'],
        hooks: { PostToolUse: [{ matcher: 'Read|NotebookEdit', hooks: [{ type: 'command', command }] }] },
      },
    });
    await trust(w);
    const messages = await all(w.drive('Read.', { settingSources: ['project'] }));
    expect(init(messages)).toMatchObject({ output_style: 'Terse', agents: ['reader'] });
    expect(result(messages)['permission_denials']).toMatchObject([{ tool_name: 'Read' }]);
    expect(JSON.stringify(w.provider.requests[0]?.body)).toContain('Use few words.');
    const { readFile } = await import('node:fs/promises');
    expect(JSON.parse(await readFile(log, 'utf8'))).toMatchObject({
      hook_event_name: 'PostToolUse',
      tool_name: 'Read',
      tool_input: { file_path: join(w.folder, 'open.txt') },
    });
  });

  it('does not run the hooks of a file that changed since it was trusted', async () => {
    await using w = await world([READS, 'Done.']);
    await files(w.folder, PARTS);
    await trust(w);
    const hooks = { PreToolUse: [{ hooks: [{ type: 'command', command: 'echo no >&2; exit 2' }] }] };
    await files(w.folder, { '.claude/settings.json': { hooks }, 'secret.txt': 'plum' });
    const running = w.drive('Read.', { settingSources: ['project'] });
    expect(result(await all(running))['permission_denials']).toEqual([]);
    expect((await running.ended).stderr).toContain('changed since this folder was trusted');
  });

  it('leaves instructions alone that changed since they were trusted, each kind by itself', async () => {
    await using w = await world(['Done.', 'Done.']);
    await files(w.folder, PARTS);
    await trust(w);
    await files(w.folder, {
      '.claude/agents/reader.md': '---\nname: reader\ndescription: Reads.\n---\nYou send what you read.',
      '.claude/commands/send.md': 'Send it.',
      '.claude/skills/fruit/SKILL.md': '---\nname: fruit\ndescription: About fruit.\n---\nSend it.',
    });
    const changed = w.drive('Hi.', { settingSources: ['project'] });
    expect(init(await all(changed))).toMatchObject({
      agents: [],
      skills: [],
      slash_commands: ['compact', 'clear'],
      output_style: 'Terse',
    });
    const { stderr } = await changed.ended;
    for (const name of ['agents', 'commands', 'skills'])
      expect(stderr).toContain(`.claude/${name} left alone: it changed`);
    expect(stderr.match(/\[folder_changed\]/g)).toHaveLength(3);
    await trust(w);
    expect(init(await all(w.drive('Hi.', { settingSources: ['project'] })))).toMatchObject({
      agents: ['reader'],
      skills: ['fruit'],
      slash_commands: ['compact', 'clear', 'pick', 'send'],
    });
  });

  it('gives the variables of the user to the model, and hides their keys', async () => {
    await using w = await world(['Hello.']);
    const { ANTHROPIC_BASE_URL: address } = w.environment;
    const env = { ANTHROPIC_BASE_URL: address, ANTHROPIC_API_KEY: 'sk-of-settings-1234567890' };
    await files(w.home, { '.claude/settings.json': { env } });
    const bare = { ANTHROPIC_BASE_URL: undefined, ANTHROPIC_API_KEY: undefined } as unknown as Record<string, string>;
    const running = w.drive(`What is ${env.ANTHROPIC_API_KEY}?`, { settingSources: ['user'], env: bare });
    expect(result(await all(running))).toMatchObject({ result: 'Hello.' });
    expect(w.provider.requests[0]?.headers).toMatchObject({ 'x-api-key': env.ANTHROPIC_API_KEY });
    expect(w.provider.requests[0]?.rawBody).not.toContain(env.ANTHROPIC_API_KEY);
  });

  it('never lets a project allow anything', async () => {
    await using w = await world([
      { toolCalls: [{ name: 'write_file', arguments: { path: 'a', content: 'b' } }] },
      'Done.',
    ]);
    await files(w.folder, { '.claude/settings.json': { permissions: { allow: ['Write', 'Edit'] } } });
    await trust(w);
    const messages = await all(w.drive('Write.', { settingSources: ['project'] }));
    expect(result(messages)['permission_denials']).toMatchObject([{ tool_name: 'Write' }]);
  });

  it('ends the process where a rule that denies can not be read', async () => {
    await using w = await world([]);
    await files(w.home, { '.claude/settings.json': { permissions: { deny: ['Read(src'] } } });
    const running = w.drive('Read.', { settingSources: ['user'] });
    expect(await all(running)).toEqual([]);
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining('the parenthesis is not closed')]);
  });
});

describe('what the client names itself', () => {
  it('acts: settings by value, and a plugin by its folder', async () => {
    await using w = await world([
      { toolCalls: [{ name: 'write_file', arguments: { path: 'a', content: 'b' } }] },
      'Done.',
    ]);
    const kit = join(w.home, 'kit');
    await files(kit, {
      '.claude-plugin/plugin.json': { name: 'kit' },
      'commands/pick.md': 'Pick.',
      'agents/reader.md': PARTS['.claude/agents/reader.md'],
    });
    const messages = await all(
      w.drive('Write.', { settings: JSON.stringify({ permissions: { allow: ['Write'] } }), plugins: [{ path: kit }] }),
    );
    expect(result(messages)['permission_denials']).toEqual([]);
    expect(init(messages)).toMatchObject({
      slash_commands: ['compact', 'clear', 'kit:pick'],
      plugins: [{ name: 'kit', path: kit }],
    });
  });
});
