import { scriptedModel, type Turn } from '@treadle/testing';

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { parseAgentFile } from '../../settings/agent-files.ts';
import { runCli, temporaryFolder } from '../../test-support/harness.ts';

const READER =
  '---\nname: reader\ndescription: Reads files.\ntools: [read_file]\nmaxTurns: 3\n---\n\nRead, and report.\n';

async function folderWith(files: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), text);
  }
  return folder;
}

const delegate: Turn = {
  toolCalls: [{ name: 'agent', arguments: { subagent_type: 'reader', prompt: 'Read notes.txt.' } }],
};

describe('treadle run, in a folder with agents', () => {
  it('gives them to the model as the tool agent, once the folder is trusted', async () => {
    await using project = await folderWith({ '.treadle/agents/reader.md': READER, 'notes.txt': 'tides\n' });
    const read: Turn = { toolCalls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }] };
    const model = scriptedModel([delegate, read, 'It is about tides.', 'Tides.']);
    const { code, stdout, stderr } = await runCli(['Go.', '--trust'], {
      cwd: project.path,
      env: { HOME: project.path },
      model,
    });
    expect(stderr).toContain('treadle: Agents: reader.\n');
    expect(code).toBe(0);
    expect(stdout).toContain('Tides.');
    expect(model.requests.map(({ system }) => system === 'Read, and report.')).toEqual([false, true, true, false]);
    expect(model.requests[1]?.tools.map(({ name }) => name)).toEqual(['read_file']);
    expect(JSON.stringify(model.requests[2]?.messages)).toContain('tides');
  });

  it('H5: leaves them alone while nobody has trusted it, and says so', async () => {
    await using project = await folderWith({ '.treadle/agents/reader.md': READER });
    const model = scriptedModel(['Done.']);
    const { stderr } = await runCli(['Go.'], { cwd: project.path, env: { HOME: join(project.path, 'home') }, model });
    expect(stderr).toContain('.treadle/agents left alone: nobody has trusted this folder. --trust does.');
    expect(model.requests[0]?.tools.map(({ name }) => name)).not.toContain('agent');
  });

  it('leaves them alone after a change, and says so with a code', async () => {
    await using project = await folderWith({ '.treadle/agents/reader.md': READER });
    const options = { cwd: project.path, env: { HOME: join(project.path, 'home') } };
    await runCli(['Go.', '--trust'], { ...options, model: scriptedModel(['Done.']) });
    await writeFile(join(project.path, '.treadle/agents/reader.md'), `${READER}\nSend it.\n`);
    const model = scriptedModel(['Done.']);
    const { stderr } = await runCli(['Go.'], { ...options, model });
    expect(stderr).toMatch(/\.treadle\/agents: it changed since this folder was trusted\..*\[folder_changed\]\n/);
    expect(model.requests[0]?.tools.map(({ name }) => name)).not.toContain('agent');
  });

  it("has the user's own everywhere", async () => {
    await using project = await folderWith({ 'home/.config/treadle/agents/reader.md': READER });
    const model = scriptedModel(['Done.']);
    await runCli(['Go.'], { cwd: project.path, env: { HOME: join(project.path, 'home') }, model });
    expect(model.requests[0]?.tools.map(({ name }) => name)).toContain('agent');
  });

  it('leaves one out that names a tool there is not', async () => {
    await using project = await folderWith({ '.treadle/agents/a.md': READER.replace('read_file', 'launch') });
    const { stderr } = await runCli(['Go.', '--trust'], {
      cwd: project.path,
      env: { HOME: project.path },
      model: scriptedModel(['Done.']),
    });
    expect(stderr).toContain('was left out: there is no tool launch.');
  });

  it('takes the names that Claude Code has for tools, and says what an unknown one was meant to be', async () => {
    const named = (name: string, tools: string) =>
      READER.replace('name: reader', `name: ${name}`).replace('[read_file]', tools);
    await using project = await folderWith({
      '.treadle/agents/a.md': named('reader', 'Read, Grep, Glob, LS'),
      '.treadle/agents/b.md': named('typo', 'raed_file'),
    });
    const model = scriptedModel([delegate, 'Read.', 'Done.']);
    const { stderr } = await runCli(['Go.', '--trust'], { cwd: project.path, env: { HOME: project.path }, model });
    expect(model.requests[1]?.tools.map(({ name }) => name).toSorted()).toEqual(['list_files', 'read_file', 'search']);
    expect(stderr).toContain('there is no tool raed_file. Did you mean "read_file"?');
  });
});

describe("treadle run, in a folder with agents of Claude Code's", () => {
  it('maps their tools and models, and says what has no effect', async () => {
    const text =
      '---\nname: reader\ndescription: "Reads."\ntools: Read, Bash, Write, NotebookEdit, mcp__db__query\n' +
      'disallowedTools: Write\nmodel: opus\ncolor: red\n---\nRead, and report.\n';
    await using project = await folderWith({ '.claude/agents/reader.md': text, 'notes.txt': 'tides\n' });
    const model = scriptedModel([delegate, 'It is about tides.', 'Tides.']);
    const { code, stderr } = await runCli(['Go.', '--trust'], {
      cwd: project.path,
      env: { HOME: join(project.path, 'home') },
      model,
    });
    expect(code).toBe(0);
    expect(stderr).toContain("it runs without NotebookEdit, mcp__db__query, which this run doesn't have.");
    expect(stderr).toContain('color has no effect here.');
    expect(model.requests[1]?.tools.map(({ name }) => name).toSorted()).toEqual(['bash', 'read_file']);
  });

  it('leaves them alone while nobody has trusted it', async () => {
    await using project = await folderWith({ '.claude/agents/reader.md': READER });
    const model = scriptedModel(['Done.']);
    const { stderr } = await runCli(['Go.'], { cwd: project.path, env: { HOME: join(project.path, 'home') }, model });
    expect(stderr).toContain('.claude/agents left alone: nobody has trusted this folder.');
    expect(model.requests[0]?.tools.map(({ name }) => name)).not.toContain('agent');
  });
});

describe('the definition of an agent', () => {
  it('has its limits, model and mode in front, and its instructions below', async () => {
    const text = READER.replace(
      'maxTurns: 3',
      'model: anthropic/claude-haiku-4-5\npermissionMode: plan\nmaxDurationMs: 60000',
    );
    expect(await parseAgentFile('reader.md', text)).toEqual({
      path: 'reader.md',
      name: 'reader',
      description: 'Reads files.',
      instructions: 'Read, and report.',
      tools: ['read_file'],
      model: 'anthropic/claude-haiku-4-5',
      mode: 'plan',
      maxDurationMs: 60_000,
      disallowedTools: [],
      ignored: [],
    });
  });

  it.each([
    ['model: opus', { model: 'anthropic/claude-opus-5-5' }],
    ['model: inherit', { model: undefined }],
    ['model: claude-haiku-4-5', { model: 'anthropic/claude-haiku-4-5' }],
    ['model: openai/gpt-6.1-sol', { model: 'openai/gpt-6.1-sol' }],
    ['permissionMode: bypassPermissions', { mode: 'bypass' }],
    ['disallowedTools: Bash, Write', { disallowedTools: ['bash', 'write_file'] }],
    ['color: red\nmemory: user', { ignored: ['color', 'memory'] }],
  ])("reads %s as Claude Code's files mean it", async (line, expected) => {
    expect(await parseAgentFile('reader.md', READER.replace('maxTurns: 3', line))).toMatchObject(expected);
  });

  it.each<[string, string, RegExp]>([
    ['no front matter', 'Read.', /does not begin with front matter/],
    ['no name', '---\ndescription: Reads.\n---\nRead.', /name must be/],
    ['no description', '---\nname: reader\n---\nRead.', /no description/],
    ['no instructions', '---\nname: reader\ndescription: Reads.\n---\n', /no instructions/],
    ['a mode there is not', READER.replace('maxTurns: 3', 'permissionMode: all'), /permissionMode must be/],
    ['a limit of nothing', READER.replace('maxTurns: 3', 'maxTurns: 0'), /maxTurns must be/],
    ['R8: a bomb of aliases', '---\na: &a [x, x]\nb: &b [*a, *a]\nname: *b\n---\nRead.', /[Aa]lias/],
    ['R8: a head that is too long', `---\nname: ${'x'.repeat(20_000)}\n---\nRead.`, /longer than/],
  ])('is refused with %s', async (_, text, expected) => {
    await expect(parseAgentFile('x.md', text)).rejects.toThrow(expected);
  });
});
