import { scriptedModel } from '@treadle/testing';

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder, type CliOptions } from '../../test-support/harness.ts';

async function world(files: Readonly<Record<string, string>>) {
  const top = await temporaryFolder();
  const cwd = join(top.path, 'project');
  await mkdir(cwd);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(top.path, path)), { recursive: true });
    await writeFile(join(top.path, path), text);
  }
  return {
    async sent(args: readonly string[], more: CliOptions = {}) {
      const model = scriptedModel(['Done.']);
      const { code, stderr } = await runCli(args, { cwd, env: { HOME: join(top.path, 'home') }, model, ...more });
      return { code, stderr, messages: JSON.stringify(model.requests[0]?.messages ?? null) };
    },
    [Symbol.asyncDispose]: () => top[Symbol.asyncDispose](),
  };
}

describe('treadle run with a command', () => {
  it("sends the text of the user's command, with its arguments and what is piped in", async () => {
    await using w = await world({
      'home/.claude/commands/fix.md': '---\nmodel: opus\n---\nFix issue $1 in $ARGUMENTS.\n',
    });
    const { code, stderr, messages } = await w.sent(['/fix 12 a.ts'], { stdin: 'some data' });
    expect(code).toBe(0);
    expect(messages).toContain('Fix issue 12 in 12 a.ts.');
    expect(messages).toContain('some data');
    expect(stderr).toContain('fix.md: model has no effect here.');
  });

  it("reads the folder's commands once it is trusted", async () => {
    await using w = await world({ 'project/.treadle/commands/go.md': 'canary $1\n' });
    const refused = await w.sent(['/go now']);
    expect(refused.messages).toContain('/go now');
    expect(refused.messages).not.toContain('canary');
    expect(refused.stderr).toContain('.treadle/commands left alone: nobody has trusted this folder. --trust does.');
    expect((await w.sent(['/go now', '--trust'])).messages).toContain('canary now');
  });

  it('says what a misspelt name was meant to be, and sends paths as they are', async () => {
    await using w = await world({ 'home/.treadle/commands/review.md': 'Review.\n' });
    const typo = await w.sent(['/reveiw a.ts']);
    expect(typo).toMatchObject({ code: 2, messages: 'null' });
    expect(typo.stderr).toContain('There is no command /reveiw. Did you mean /review?');
    for (const prompt of ['/tmp is full. Why?', '/etc/hosts', ' /reveiw a.ts'])
      expect((await w.sent([prompt])).messages).toContain(prompt);
    expect((await w.sent([], { stdin: '/review a.ts' })).messages).toContain('/review a.ts');
  });
});
