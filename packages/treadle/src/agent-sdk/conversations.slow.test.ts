// @module-tag slow

import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { all, prompts, until, world, type Said } from '../test-support/agent-sdk/world.ts';
import { transcript } from '../test-support/agent-sdk/transcript.ts';
import type { Json } from '../test-support/agent-sdk/client.ts';

const WRITES = { toolCalls: [{ name: 'bash', arguments: { command: 'echo plum > a.txt' } }] };

/** A transcript of a conversation, for its golden file. */
function recorded(w: { readonly folder: string; readonly home: string }) {
  const lines = transcript({ [w.folder]: '/work', [w.home]: '/home', [dirname(w.folder)]: '/place' });
  return {
    testing: { onLine: lines.onLine },
    matches: (name: string) => expect(lines.text()).toMatchFileSnapshot(`golden/${name}.jsonl`),
  };
}

const last = (messages: readonly Json[]): Json => messages.at(-1) ?? {};

describe('a turn', () => {
  it('is asked, answered, and told of by one result', { tags: ['share'] }, async () => {
    await using w = await world([{ text: 'Let me write.', ...WRITES }, 'Done.']);
    const record = recorded(w);
    const asked: Json[] = [];
    const said: Said = {
      canUseTool: async (toolName, input) => {
        asked.push({ toolName, input });
        return { behavior: 'allow', updatedInput: input };
      },
    };
    const running = w.drive('Write a plum.', said, record.testing);
    const messages = await all(running);
    expect(last(messages)).toMatchObject({ type: 'result', subtype: 'success', result: 'Done.', num_turns: 2 });
    expect(asked).toEqual([{ toolName: 'Bash', input: { command: 'echo plum > a.txt' } }]);
    expect(await readFile(join(w.folder, 'a.txt'), 'utf8')).toBe('plum\n');
    expect(await running.ended).toEqual({ code: 0, signal: null, stderr: '' });
    expect(running.strange).toEqual([]);
    expect(w.provider.requests.flatMap(({ problems }) => problems)).toEqual([]);
    await record.matches('permission-allowed');
  });

  it('goes on after a no, which the result lists', async () => {
    await using w = await world([WRITES, 'Then not.']);
    const running = w.drive('Write a plum.', { canUseTool: async () => ({ behavior: 'deny', message: 'Not today.' }) });
    const messages = await all(running);
    expect(last(messages)).toMatchObject({
      subtype: 'success',
      result: 'Then not.',
      permission_denials: [{ tool_name: 'Bash', tool_input: { command: 'echo plum > a.txt' } }],
    });
    expect(JSON.stringify(messages)).toContain('Not today.');
  });

  it('runs a call with the input that the client changed', async () => {
    await using w = await world([WRITES, 'Done.']);
    const running = w.drive('Write a plum.', {
      canUseTool: async () => ({ behavior: 'allow', updatedInput: { command: 'echo pear > b.txt' } }),
    });
    await all(running);
    expect(await readFile(join(w.folder, 'b.txt'), 'utf8')).toBe('pear\n');
  });

  it('asks nobody where the client has no callback', async () => {
    await using w = await world([WRITES, 'Then not.']);
    const messages = await all(w.drive('Write a plum.'));
    expect(JSON.stringify(messages)).toContain('Nobody can be asked');
  });

  it('reads and edits files by the names of the wire', async () => {
    await using w = await world([
      { toolCalls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
      { toolCalls: [{ name: 'edit_file', arguments: { path: 'a.txt', old_text: 'plum', new_text: 'pear' } }] },
      'Done.',
    ]);
    await writeFile(join(w.folder, 'a.txt'), 'plum\n');
    const record = recorded(w);
    const running = w.drive(
      'Edit it.',
      { permissionMode: 'acceptEdits', includePartialMessages: true },
      record.testing,
    );
    expect(last(await all(running))).toMatchObject({ subtype: 'success' });
    expect(await readFile(join(w.folder, 'a.txt'), 'utf8')).toBe('pear\n');
    await record.matches('partial-messages');
  });
});

describe('several messages', () => {
  it('are answered one after the other, each by a result', async () => {
    await using w = await world(['One.', 'Two.']);
    const asking = prompts();
    const running = w.drive(asking, {}, { flags: 'apart' });
    asking.say('First.');
    asking.say([{ type: 'text', text: 'Second.' }]);
    const messages = running[Symbol.asyncIterator]();
    expect(last(await until(messages, 'result'))).toMatchObject({ result: 'One.' });
    expect(last(await until(messages, 'result'))).toMatchObject({ result: 'Two.' });
    asking.end();
    expect((await running.ended).code).toBe(0);
  });
});
