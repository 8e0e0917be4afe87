import { createSession, defineAgent, defineTool, memoryJournal, systemClock, type TreadleEvent } from '@treadle/core';
import { countingIds, scriptedModel } from '@treadle/testing';
import { builtInTools } from '@treadle/tools';
import fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { widthOf } from '../screen/text.ts';
import { themeNamed } from '../screen/theme.ts';
import type { Block } from './blocks.ts';
import { blockRows } from './rows.ts';
import { createView } from './view.ts';

const label = (name: string): string => name;

function rowsOf(blocks: readonly Block[], columns = 80): string[] {
  const options = { columns, theme: themeNamed('none'), label };
  return blocks.flatMap((block, index) => blockRows(block, blocks[index - 1] ?? null, options));
}

/** The transcript of events, taken in one by one as a screen does. */
function shown(events: Iterable<TreadleEvent>, columns = 80): string[] {
  const view = createView({ label, self: null });
  const blocks: Block[] = [];
  for (const event of events) {
    view.take(event);
    blocks.push(...view.finished());
  }
  return rowsOf(blocks, columns);
}

/** What a session has told its watchers, and what is in its log. */
async function recorded(turns: Parameters<typeof scriptedModel>[0], prompts: readonly string[]) {
  const journal = memoryJournal();
  const wait = defineTool({
    name: 'wait',
    description: 'Waits so many turns of the loop.',
    inputSchema: { type: 'object', properties: { turns: { type: 'number' } } },
    readOnly: true,
    replay: 'safe',
    async execute({ turns: count }) {
      for (let turn = 0; turn < Number(count); turn += 1) await Promise.resolve();
      return `waited ${Number(count)}`;
    },
  });
  const agent = defineAgent({ model: scriptedModel(turns), tools: [wait] });
  const session = await createSession(agent, { journal });
  const live: TreadleEvent[] = [];
  session.subscribe((event) => void live.push(event));
  for (const prompt of prompts) await session.prompt(prompt).result;
  const log: TreadleEvent[] = [];
  for await (const event of journal.read(session.id, 1)) log.push(event);
  return { live, log };
}

const RICH = [
  '# A heading',
  'A paragraph with **bold**, *slanted*, `code` and [a link](https://example.com/page) that is longer than forty columns.',
  '1. first\n2. second\n   - inside, with 你好，世界 and 👩‍👩‍👧',
  '> Quoted words.',
  '```ts\nexport const value: number = 1;\nconsole.log(value);\n```',
  '| name | value |\n| --- | ---: |\n| one | 1 |\n| 世界 | 22 |',
  '---',
  'The end of it.',
].join('\n\n');

const REPLY = '# Done\n\nIt **works**:\n\n- one\n- two\n\n```js\nrun();\n```\n';

describe('the view of a session', () => {
  it('shows the same after a run as when the session is opened again, at any width', async () => {
    const calls = [30, 10, 1].map((turns) => ({ name: 'wait', arguments: { turns } }));
    const { live, log } = await recorded(['Hello.', { text: 'Waiting.', toolCalls: calls }, REPLY], ['Hi', 'Wait.']);
    expect(live.some(({ type }) => type === 'message_delta')).toBe(true);
    for (const columns of [40, 80, 200]) expect(shown(live, columns)).toEqual(shown(log, columns));
    expect(shown(log).filter((row) => !/tokens/.test(row))).toMatchObject(
      [
        '',
        '> Hi',
        '',
        'Hello.',
        '',
        '',
        '> Wait.',
        '',
        'Waiting.',
        '',
        expect.stringMatching(/^• wait · turns=30 · ok: waited 30 · /),
        expect.stringMatching(/^• wait · turns=10 · ok: waited 10 · /),
        expect.stringMatching(/^• wait · turns=1 · ok: waited 1 · /),
        '',
        'Done',
        '',
        'It works:',
        '',
        '• one',
        '• two',
        '',
        'run();',
        '',
      ].map((row) => row as unknown as object),
    );
  });

  it.each([40, 80, 200])(
    'draws replies, tools, edits and questions as it always has, in %s columns',
    async (columns) => {
      const folder = mkdtempSync(join(tmpdir(), 'treadle-view-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const fail = defineTool({ name: 'fail', description: 'Fails.', execute: () => Promise.reject(new Error('no')) });
      const agent = defineAgent({
        model: scriptedModel([
          {
            thinking: 'First the file, then the change.',
            text: RICH,
            toolCalls: [{ name: 'write_file', arguments: { path: 'a.md', content: 'one\ntwo\nthree\n' } }],
          },
          {
            toolCalls: [
              { name: 'edit_file', arguments: { path: 'a.md', old_text: 'two', new_text: 'zwei' } },
              { name: 'fail' },
              { name: 'bash', arguments: { command: 'seq 40' } },
            ],
          },
          'It is over. 🧵',
        ]),
        tools: [...builtInTools({ root: folder, bash: { sandbox: 'off' } }), fail],
        permissions: { mode: 'bypass', allowBypass: true },
      });
      const journal = memoryJournal();
      const clock = { ...systemClock, now: () => 1_800_000_000_000 };
      const session = await createSession(agent, { journal, clock, ids: countingIds() });
      await session.prompt('Write a page, and change it.').result;
      await session.addExtension('note', { seen: true });
      const log: TreadleEvent[] = [];
      for await (const event of journal.read(session.id, 1)) log.push(event);
      const screen = shown(log, columns).map((row) => `${row.trimEnd()}\n`);
      await expect(screen.join('')).toMatchFileSnapshot(`golden/${columns}.txt`);
      expect(screen.every((row) => widthOf(row.trimEnd()) <= columns)).toBe(true);
    },
  );

  it('shows the same for any session, at any width', async () => {
    const text = fc.array(
      fc.constantFrom('# Head', 'Some *words*.', '- one\n- two', '```js\na();\n```', '| a |\n| - |\n| 世 |'),
    );
    const call = fc.nat(9).map((turns) => ({ name: 'wait', arguments: { turns } }));
    const turn = fc.record({
      text: text.map((parts) => parts.join('\n\n')),
      thinking: fc.constantFrom('', 'Hm, let me see.'),
      toolCalls: fc.array(call, { maxLength: 3 }),
      chunkSize: fc.integer({ min: 1, max: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), async (turns) => {
        const { live, log } = await recorded([...turns, 'Done.', 'Done.', 'Done.', 'Done.'], ['First', 'Then']);
        for (const columns of [40, 80, 200]) expect(shown(live, columns)).toEqual(shown(log, columns));
      }),
      { numRuns: 200 },
    );
  });

  it('has no question any more that an answer is given to, until the answer is refused', async () => {
    const { log } = await recorded(['Hello.'], ['Hi']);
    const at = 0;
    const approvalId = 'a1';
    const asked = {
      type: 'approval_requested',
      approvalId,
      callId: 'c1',
      toolName: 'wait',
      arguments: {},
      question: 'May it?',
    };
    const given = { type: 'input_received', input: { type: 'approval_answer', approvalId, decision: 'approve' } };
    const view = createView({ label, self: null });
    const take = (event: object, seq: number): void => view.take({ at, seq, ...event } as unknown as TreadleEvent);
    for (const event of log) view.take(event);
    take(asked, 101);
    take({ type: 'run_paused', pending: [{ ...asked, type: 'approval' }] }, 102);
    expect(view.state).toMatchObject({ question: { approvalId }, paused: [{ approvalId }] });
    take(given, 103);
    expect(view.state).toMatchObject({ question: null, paused: null });
    take({ type: 'input_rejected', inputSeq: 103 }, 104);
    expect(view.state).toMatchObject({ question: { approvalId }, paused: [{ approvalId }] });
  });

  it('keeps what was read of a reply that broke off, and says so', () => {
    const view = createView({ label, self: null });
    const place = { runId: 'r', turnIndex: 0, messageId: 'm', attempt: 1 };
    const live = { afterSeq: 1, ...place, restart: 0, index: 0, kind: 'text' };
    view.take({ type: 'message_delta', ...live, offset: 0, text: 'A beginning' } as never);
    const said = { type: 'message_discarded', at: 0, seq: 2, ...place, reason: 'attempt_failed' };
    view.take(said as never);
    expect(rowsOf(view.finished())).toEqual(['A beginning', '', '— the reply broke off; again —']);
    view.take({ ...said, seq: 3 } as never);
    expect(view.finished()).toEqual([]);
  });

  it('has the answers before this terminal began as the user’s own, where the log names nobody', () => {
    const answers = (since: number): readonly (string | undefined)[] => {
      const view = createView({ label, self: 'this process', since });
      const take = (event: object, seq: number): void =>
        view.take({ at: seq * 10, seq, ...event } as unknown as TreadleEvent);
      take({ type: 'drive_started', owner: 'the process before' }, 1);
      for (const [index, by] of [undefined, 'anna'].entries()) {
        const [approvalId, callId] = [`a${index}`, `c${index}`];
        take({ type: 'approval_requested', approvalId, callId, toolName: 'wait', arguments: {} }, 2);
        take({ type: 'input_received', input: { type: 'approval_answer', approvalId, decision: 'approve', by } }, 3);
        take({ type: 'approval_answered', approvalId, decision: 'approve' }, 4);
      }
      return view.state.calls.map(({ answer }) => answer);
    };
    expect(answers(0)).toEqual(['allowed by the process before', 'allowed by anna']);
    expect(answers(1000)).toEqual(['allowed by you', 'allowed by anna']);
  });

  it('waits for client tools no longer when their results are given', () => {
    const view = createView({ label, self: null });
    const take = (event: object, seq: number): void => view.take({ at: 0, seq, ...event } as unknown as TreadleEvent);
    const pending = ['c1', 'c2'].map((callId) => ({ type: 'client_tool', callId, toolName: 'ask', arguments: {} }));
    const given = (callId: string) => ({
      type: 'input_received',
      input: { type: 'client_tool_results', results: [{ callId, content: 'Yes.' }], partial: true },
    });
    take({ type: 'run_paused', pending }, 1);
    take(given('c1'), 2);
    expect(view.state.paused).toHaveLength(2);
    take(given('c2'), 3);
    expect(view.state.paused).toBeNull();
  });

  it('knows what waits, what it has cost and what the last reply was', async () => {
    const { log } = await recorded([REPLY], ['Hi']);
    const view = createView({ label, self: null });
    for (const event of log) view.take(event);
    expect(view.state).toMatchObject({ run: null, prompts: ['Hi'], lastReply: REPLY, queued: [], question: null });
  });
});
