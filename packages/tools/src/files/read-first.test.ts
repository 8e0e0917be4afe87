import {
  asTool,
  createSession,
  defineAgent,
  memoryBlobs,
  memoryJournal,
  openSession,
  pruneOldest,
  runBranches,
  sessionsOf,
  type AgentDefinition,
  type Blobs,
  type DurableEvent,
  type Tool,
} from '@treadle/core';
import { journalOf, logOf, scriptedModel, type Turn } from '@treadle/testing';
import { readFile, rename, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { builtInTools, folderCopies, rewindSession } from '../index.ts';
import { workspace } from '../test-support/workspace.ts';

const read = (path: string, more: object = {}) => ({ name: 'read_file', arguments: { path, ...more } });
const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } });
const edit = (path: string, before: string, after: string) => ({
  name: 'edit_file',
  arguments: { path, old_text: before, new_text: after },
});
type Call = ReturnType<typeof read>;

/** What a call came to, in the first words of its result. */
const outcomes = (events: readonly DurableEvent[]): readonly string[] =>
  events.flatMap((event) => {
    if (event.type !== 'tool_ended' || event.toolName === 'read_file') return [];
    const problem = (event.details as { readonly problem?: string } | undefined)?.problem;
    return [
      problem ??
        event.content
          .flatMap((block) => (block.type === 'text' ? [block.text] : []))
          .join()
          .slice(0, 7),
    ];
  });

const permissions = { mode: 'bypass', allowBypass: true } as const;

/** A session over a folder, in a journal: prompts are replies of tool calls, one reply after the other. */
async function world(files: Readonly<Record<string, string>>, given: { readonly blobs?: Blobs } = {}) {
  const { root } = await workspace(files);
  const journal = memoryJournal();
  const agentWith = (replies: readonly (readonly Call[])[], more: Partial<AgentDefinition> = {}) =>
    defineAgent({
      // No usage is reported, so that views are measured.
      model: scriptedModel([...replies, []].map((toolCalls): Turn => ({ text: 'Now.', toolCalls, usage: null }))),
      tools: builtInTools({ root }).filter(({ name }) => name.endsWith('_file')),
      permissions,
      ...more,
    });
  await createSession(agentWith([]), { id: 's', journal });
  return {
    root,
    journal,
    agentWith,
    put: (path: string, content: string) => writeFile(join(root, path), content),
    has: (path: string) => readFile(join(root, path), 'utf8'),
    log: () => logOf(journal, 's'),
    async say(...replies: readonly (readonly Call[])[]) {
      const session = await openSession(agentWith(replies), 's', { journal, ...given });
      expect((await session.prompt('Go.').result).status).toBe('completed');
      return outcomes(await logOf(journal, 's'));
    },
  };
}

describe('a file that the model has not read', () => {
  it('is neither replaced nor edited, and the error says to read it first', async () => {
    const { say, has, log } = await world({ 'a.txt': 'one' });
    expect(await say([write('a.txt', 'two')], [edit('a.txt', 'one', 'two')])).toEqual(['not_read', 'not_read']);
    expect(await has('a.txt')).toBe('one');
    const text =
      "a.txt exists, and you haven't seen what it holds. Read it first with read_file; change it in a later reply.";
    expect(JSON.stringify(await log())).toContain(JSON.stringify(text).slice(1, -1));
  });

  it('may be made where there is none', async () => {
    const { say, has } = await world({});
    expect(await say([write('new/a.txt', 'one')])).toEqual(['Created']);
    expect(await has('new/a.txt')).toBe('one');
  });

  it('is not read by a call of the same reply: the model had not seen its result', async () => {
    const { say } = await world({ 'a.txt': 'one' });
    expect(await say([read('a.txt'), write('a.txt', 'two')], [write('a.txt', 'two')])).toEqual(['not_read', 'Overwro']);
  });

  it('is known by its own path, whatever another file holds', async () => {
    const { say } = await world({ 'a.txt': 'same', 'b.txt': 'same' });
    expect(await say([read('a.txt')], [write('b.txt', 'x'), write('a.txt', 'x')])).toEqual(['not_read', 'Overwro']);
  });
});

describe('a file that changed since the model read it', () => {
  it('is left alone until it was read again', async () => {
    const { say, put, has } = await world({ 'a.txt': 'one\n' });
    await say([read('a.txt')]);
    await put('a.txt', 'one\nand a line of the user\n');
    expect(await say([write('a.txt', 'two')], [edit('a.txt', 'one\n', 'two\n')])).toEqual(['changed', 'changed']);
    expect(await has('a.txt')).toBe('one\nand a line of the user\n');
    expect((await say([read('a.txt')], [edit('a.txt', 'one\n', 'two\n')])).at(-1)).toBe('Edited ');
    expect(await has('a.txt')).toBe('two\nand a line of the user\n');
  });

  it('counts as unchanged when it holds the same again', async () => {
    const { say, put } = await world({ 'a.txt': 'one' });
    await say([read('a.txt')]);
    await put('a.txt', 'other');
    await put('a.txt', 'one');
    expect(await say([write('a.txt', 'two')])).toEqual(['Overwro']);
  });

  it('is compared as a whole, also when only a part of it was read', async () => {
    const { say, put } = await world({ 'a.txt': 'one\ntwo\nthree\n' });
    expect(await say([read('a.txt', { offset: 2, limit: 1 })], [edit('a.txt', 'three', '3')])).toEqual(['Edited ']);
    await say([read('a.txt', { offset: 1, limit: 1 })]);
    await put('a.txt', 'one\ntwo\nfour\n');
    expect((await say([edit('a.txt', 'one', '1')])).at(-1)).toBe('changed');
  });

  it('is left alone when that happens while the new content is being written, unseen by size and time', async () => {
    const held = memoryBlobs();
    const { root } = await workspace({ 'a.txt': 'one' });
    const path = join(root, 'a.txt');
    const blobs: Blobs = {
      ...held,
      // What the file holds is kept before it is replaced: this is amid the update, after the first look at it.
      async put(content, options) {
        const kept = await held.put(content, options);
        const { atime, mtime } = await stat(path);
        await writeFile(path, 'uno');
        await utimes(path, atime, mtime);
        return kept;
      },
    };
    const agent = defineAgent({
      model: scriptedModel([{ toolCalls: [read('a.txt')] }, { toolCalls: [write('a.txt', 'two')] }, 'Done.']),
      tools: builtInTools({ root }),
      permissions,
    });
    const journal = memoryJournal();
    const session = await createSession(agent, { id: 's', journal, blobs });
    await session.prompt('Go.').result;
    expect(outcomes(await logOf(journal, 's'))).toEqual(['changed']);
    expect(await readFile(path, 'utf8')).toBe('uno');
  });

  it('is left alone when another file has taken its name', async () => {
    const { say, root, put, has } = await world({ 'a.txt': 'one' });
    await say([read('a.txt')]);
    await put('b.txt', 'of the user');
    await rename(join(root, 'b.txt'), join(root, 'a.txt'));
    expect(await say([write('a.txt', 'two')])).toEqual(['changed']);
    expect(await has('a.txt')).toBe('of the user');
  });
});

describe('what the model wrote itself', () => {
  it('it need not read, in the same reply or later', async () => {
    const { say, has } = await world({});
    const replies = [
      [write('a.txt', 'one two'), edit('a.txt', 'one', '1'), edit('a.txt', 'two', '2')],
      [write('a.txt', 'x')],
    ];
    expect(await say(...replies)).toEqual(['Created', 'Edited ', 'Edited ', 'Overwro']);
    expect(await has('a.txt')).toBe('x');
  });

  it('it does not know by a call that failed', async () => {
    const { say, put } = await world({ 'a.txt': 'one' });
    await say([read('a.txt')]);
    await put('a.txt', 'two');
    expect(await say([edit('a.txt', 'one', 'x')], [edit('a.txt', 'two', 'x')])).toEqual(['changed', 'changed']);
  });
});

it('a link and the file that it leads to are one file', async () => {
  const { say, root } = await world({ 'a/file.txt': 'one' });
  await symlink('a/file.txt', join(root, 'link.txt'));
  expect(await say([read('link.txt')], [write('a/file.txt', 'two')], [write('link.txt', 'three')])).toEqual([
    'Overwro',
    'Overwro',
  ]);
});

it('a file that is too large to be read to its end is refused, with what to do', async () => {
  const { say, root, put, log } = await world({});
  await put('huge.bin', 'text\n');
  await truncate(join(root, 'huge.bin'), 2 ** 30 + 100);
  expect(await say([write('huge.bin', 'x')])).toEqual(['too_large']);
  expect(JSON.stringify(await log())).toContain('Move or delete it with a command.');
});

describe('what the model has read', () => {
  it('is in the log: another process that takes the session over goes on with it', async () => {
    const { say, log, agentWith, put } = await world({ 'a.txt': 'one', 'b.txt': 'one' });
    await say([read('a.txt'), read('b.txt')]);
    await put('b.txt', 'two');
    const reads = (await log()).flatMap((event) => (event.type === 'tool_ended' ? (event.reads ?? []) : []));
    const hash = expect.stringMatching(/^sha256-[0-9a-f]{64}$/) as string;
    expect(reads.toSorted((one, other) => (one.path < other.path ? -1 : 1))).toEqual([
      { path: 'a.txt', hash },
      { path: 'b.txt', hash },
    ]);
    const elsewhere = await journalOf(await log());
    const session = await openSession(agentWith([[write('a.txt', 'x'), write('b.txt', 'x')]]), 's', {
      journal: elsewhere,
    });
    await session.prompt('Go on.').result;
    expect(outcomes(await logOf(elsewhere, 's'))).toEqual(['Overwro', 'changed']);
  });

  it('a fork knows, and what is read after the fork it does not', async () => {
    const { say, journal, agentWith } = await world({ 'a.txt': 'one', 'b.txt': 'one' });
    await say([read('a.txt')]);
    const fork = await sessionsOf(journal).fork('s');
    await say([read('b.txt')]);
    const session = await openSession(agentWith([[write('a.txt', 'x'), write('b.txt', 'x')]]), fork, { journal });
    await session.prompt('Go on.').result;
    expect(outcomes(await logOf(journal, fork))).toEqual(['Overwro', 'not_read']);
  });

  it('a sub-agent does not know, nor does the agent that started it know what the sub-agent did', async () => {
    const { agentWith, journal } = await world({ 'a.txt': 'one' });
    const helper = agentWith([[write('a.txt', 'x')], [read('a.txt')], [write('a.txt', 'two')]]);
    const tools: Tool[] = [...agentWith([]).tools.values(), asTool(helper, { name: 'helper', description: 'Helps.' })];
    const ask = { name: 'helper', arguments: { prompt: 'Go.' } };
    const model = scriptedModel([
      { toolCalls: [read('a.txt')] },
      { toolCalls: [ask] },
      { toolCalls: [write('a.txt', 'three')] },
      'Done.',
    ]);
    const session = await createSession(defineAgent({ model, tools, permissions }), { id: 'parent', journal });
    const events: DurableEvent[] = [];
    session.subscribe((event) => {
      if (event.type === 'child_event' && 'seq' in event.event) events.push(event.event);
    });
    await session.prompt('Go.').result;
    expect(outcomes(events)).toEqual(['not_read', 'Overwro']);
    expect(outcomes(await logOf(journal, 'parent')).at(-1)).toBe('changed');
  });

  it('is forgotten with the results that a compaction takes out of the view', async () => {
    const { say, journal, agentWith } = await world({ 'a.txt': 'word\n'.repeat(4000), 'b.txt': 'one' });
    await say([read('a.txt')], [read('b.txt'), write('c.txt', 'c')]);
    const session = await openSession(
      agentWith([[write('a.txt', 'x'), write('b.txt', 'x'), write('c.txt', 'x')]], {
        context: { strategy: pruneOldest(), recall: false },
      }),
      's',
      { journal },
    );
    expect(await session.compact()).toMatchObject({ type: 'compacted' });
    await session.prompt('Go on.').result;
    expect(outcomes(await logOf(journal, 's'))).toEqual(['Created', 'not_read', 'Overwro', 'Overwro']);
  });

  it('is forgotten when another conversation takes its place', async () => {
    const { say, journal, agentWith } = await world({ 'a.txt': 'one' });
    await say([read('a.txt')]);
    const session = await openSession(agentWith([]), 's', { journal });
    await session.importMessages([{ role: 'user', origin: 'import', content: [{ type: 'text', text: 'Earlier.' }] }]);
    expect(await say([write('a.txt', 'x')])).toEqual(['not_read']);
  });

  it('holds for the copies of branches, as long as they hold the same', async () => {
    const { say, root, journal, agentWith } = await world({ 'a.txt': 'one', 'b.txt': 'one' });
    await say([read('a.txt'), read('b.txt')]);
    await writeFile(join(root, 'b.txt'), 'changed');
    const session = await openSession(agentWith([]), 's', { journal });
    const branch = ({ folder }: { readonly folder: string | null }) =>
      defineAgent({
        model: scriptedModel([{ toolCalls: [write('a.txt', 'x'), write('b.txt', 'x')] }, 'Done.']),
        tools: builtInTools({ root: folder ?? root }),
        permissions,
      });
    const copies = folderCopies({ root });
    const run = runBranches(session, { branches: [{ configId: 'one', agent: branch }], prompt: 'Go.', copies });
    const [outcome] = await run.outcomes;
    expect(outcomes(await logOf(journal, outcome?.sessionId ?? ''))).toEqual(['Overwro', 'changed']);
    await copies.remove(outcome?.sessionId ?? '');
  });

  it('is that of the conversation that a rewind goes back to', async () => {
    const blobs = memoryBlobs();
    const { say, journal, root, agentWith, has } = await world({ 'a.txt': 'one', 'b.txt': 'one' }, { blobs });
    await say([read('a.txt')]);
    await say([write('a.txt', 'two'), read('b.txt')], [write('b.txt', 'two')]);
    const { sessionId } = await rewindSession({ journal, sessionId: 's', blobs, roots: [root], to: 2 });
    expect([await has('a.txt'), await has('b.txt')]).toEqual(['one', 'one']);
    const fork = await openSession(agentWith([[write('a.txt', 'x'), write('b.txt', 'x')]]), sessionId ?? '', {
      journal,
    });
    await fork.prompt('Go on.').result;
    expect(outcomes(await logOf(journal, sessionId ?? ''))).toEqual(['Overwro', 'not_read']);
    // The session itself goes on with what it did since: it finds that the files have gone back.
    await writeFile(join(root, 'a.txt'), 'one');
    expect((await say([write('a.txt', 'x')])).at(-1)).toBe('changed');
  });
});
