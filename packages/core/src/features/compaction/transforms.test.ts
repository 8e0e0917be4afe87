import { describe, expect, it } from 'vitest';
import type { Message } from '../../index.ts';
import { assistant, callAndResult, summaryMessage, toolResult, user } from '../../test-support/views.ts';
import { estimateMessages } from '../../messages/estimate-frame.ts';
import { CompactionError, type CompactionPhase, type PhaseContext, type View } from './phase.ts';
import { blockOverlay, summaryProblem, summarise } from './summary/summarise.ts';
import {
  clipOversized,
  condenseReplies,
  dropOldest,
  dropThinking,
  removeResults,
  truncateResults,
} from './transforms.ts';
import { isMarkedPinned, unitsOf } from './units.ts';

interface World {
  readonly target?: number;
  readonly recallName?: string | null;
  readonly summaries?: string[];
  readonly asked?: View[];
}

function contextOf({ target = 0, recallName = 'recall', summaries = [], asked = [] }: World = {}): PhaseContext {
  let ids = 0;
  return {
    target,
    window: null,
    tokensOf: estimateMessages,
    isPinned: isMarkedPinned,
    unitsOf: (view) => unitsOf(view, isMarkedPinned),
    at: 7,
    newId: () => `new${++ids}`,
    recallName,
    summarise(messages) {
      asked.push(messages);
      const next = summaries.shift();
      return next === undefined ? Promise.reject(new CompactionError('No summary.')) : Promise.resolve(next);
    },
  };
}

/** A view, shortly: each message as its id and its text. */
const shown = (view: View): string[] =>
  view.map((message) => {
    if (message.role === 'extension') return message.id;
    const text = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    return `${message.id}: ${text.join('|')}`;
  });

const apply = async (phase: CompactionPhase, view: View, world?: World): Promise<string[]> =>
  shown(await phase.apply(view, contextOf(world)));

const long = (lines: number): string => Array.from({ length: lines }, (_, index) => `line ${index + 1}`).join('\n');

/** A prompt, `turns` calls with results, and an answer. */
const conversation = (turns: number, result = 'ok'): Message[] => [
  user('p', 'Do it.'),
  ...Array.from({ length: turns }, (_, index) => callAndResult(`a${index + 1}`, result, `Step ${index + 1}.`)).flat(),
  assistant('z', [{ type: 'text', text: 'Done.' }]),
];

describe('dropThinking', () => {
  const thinking = { type: 'thinking' as const, text: 'Hm.', signature: 's' };
  const call = { type: 'tool_call' as const, callId: 'c', name: 'tool', arguments: {} };

  it('leaves reasoning out of every reply but the newest, whose signature must stay beside its calls', async () => {
    const old = assistant('a1', [thinking, { type: 'text', text: 'x' }]);
    const view = [user('u', 'Go.'), old, user('u2', 'On.'), assistant('a2', [thinking, call]), toolResult('c', 'ok')];
    const after = await dropThinking().apply(view, contextOf());
    expect(after[1]).toEqual({ ...old, content: [{ type: 'text', text: 'x' }] });
    expect(after[3]).toBe(view[3]);
  });

  it('leaves a reply alone that is nothing but reasoning, or whose reasoning is tied to its calls', async () => {
    const tied = { ...thinking, opaque: { item: { id: 'rs_1', type: 'reasoning' } } };
    const view = [
      assistant('a1', [thinking]),
      assistant('a2', [tied, call]),
      toolResult('c', 'ok'),
      assistant('a3', []),
    ];
    expect(await dropThinking().apply(view, contextOf())).toBe(view);
  });
});

describe('truncateResults', () => {
  it('keeps the first and the last lines, and says how many are gone and how to read them', async () => {
    const [, , result] = await apply(truncateResults({ maxLines: 4 }), [...conversation(1, long(10)), user('q', '?')]);
    expect(result).toBe(
      'result_a1.0: line 1\nline 2\n[… 6 lines cut out; read it with recall({"handle":"a1.0"}) …]\nline 9\nline 10',
    );
  });

  it('keeps the beginning and the end of what is one long line, and never half a character', async () => {
    const [, , result = ''] = await apply(truncateResults({ maxLength: 5 }), conversation(1, '😀'.repeat(500)), {
      recallName: null,
    });
    expect(result).toBe('result_a1.0: 😀\n[… 997 characters cut out; kept as a1.0 …]\n😀'.replace('997', '996'));
    expect(result.isWellFormed()).toBe(true);
  });

  it('cuts nothing a second time', async () => {
    const phase = truncateResults({ maxLines: 4, maxLength: 300 });
    const once = await phase.apply(conversation(1, `${long(10)}\n${'x'.repeat(5000)}`), contextOf());
    expect(await phase.apply(once, contextOf())).toBe(once);
  });

  it('leaves the newest results alone, and always those that no reply has followed', async () => {
    const view = [user('p', 'Do it.'), ...['a1', 'a2', 'a3'].flatMap((id) => callAndResult(id, long(100)))];
    const lines = (after: View): number[] =>
      after.flatMap((message) =>
        message.role === 'tool' && message.content[0]?.type === 'text'
          ? [message.content[0].text.split('\n').length]
          : [],
      );
    expect(lines(await truncateResults({ maxLines: 4 }).apply(view, contextOf()))).toEqual([5, 5, 100]);
    expect(lines(await truncateResults({ maxLines: 4, keepRecent: 2 }).apply(view, contextOf()))).toEqual([
      5, 100, 100,
    ]);
  });
});

describe('removeResults', () => {
  it('puts a placeholder with a handle in the place of old results, and keeps whether they failed', async () => {
    const [reply, result] = callAndResult('a1', long(100));
    const failed = { ...(result as Extract<Message, { role: 'tool' }>), isError: true };
    const view = [user('p', 'Do it.'), ...(reply ? [reply] : []), failed, ...callAndResult('a2', long(100))];
    const after = await removeResults({ keepRecent: 1 }).apply(view, contextOf());
    expect(after[2]).toMatchObject({ isError: true, callId: 'a1.0' });
    expect(shown(after)[2]).toBe(
      'result_a1.0: [The result of this call was removed to save space; read it with recall({"handle":"a1.0"}).]',
    );
    expect(after[4]).toBe(view[4]);
  });

  it('leaves short results: a placeholder would be no smaller', async () => {
    const view = conversation(3);
    expect(await removeResults({ keepRecent: 0 }).apply(view, contextOf())).toBe(view);
  });
});

describe('dropOldest', () => {
  it('drops as few as it can, oldest first, with one note in their place', async () => {
    const view = conversation(20, 'x'.repeat(400));
    const target = estimateMessages(view) - 300;
    const after = await apply(dropOldest(), view, { target });
    expect(after.slice(0, 3)).toEqual([
      'p: Do it.',
      'new1: [6 earlier messages removed to save space; read it with recall({"handle":"a1..result_a3.0"}).]'.replace(
        'new1',
        after[1]?.split(':')[0] ?? '',
      ),
      'a4: Step 4.',
    ]);
  });

  it('C1: moves a cut that falls between a call and its result, or inside a parallel batch', async () => {
    const batch = assistant(
      'b',
      ['1', '2', '3'].map((callId) => ({ type: 'tool_call' as const, callId, name: 'tool', arguments: {} })),
    );
    const view = [
      user('p', 'Do it.'),
      batch,
      ...['1', '2', '3'].map((id) => toolResult(id, 'x'.repeat(900))),
      ...conversation(2).slice(1),
    ];
    for (let keepRecent = 0; keepRecent <= view.length; keepRecent++) {
      const ids = (await dropOldest({ keepRecent, middle: 'all' }).apply(view, contextOf())).map(({ id }) => id);
      const kept = ['b', 'result_1', 'result_2', 'result_3'].filter((id) => ids.includes(id));
      expect([0, 4]).toContain(kept.length);
    }
  });

  it('takes in the notes of earlier compactions, and names all that is gone', async () => {
    const first = await dropOldest({ keepRecent: 5, middle: 'all' }).apply(
      conversation(6, 'x'.repeat(400)),
      contextOf(),
    );
    const more = [
      ...first,
      ...conversation(6, 'x'.repeat(400)).map((message) => ({ ...message, id: `n${message.id}` })),
    ];
    const second = await dropOldest({ keepRecent: 1, middle: 'all' }).apply(more, contextOf());
    const notes = second.filter((message) => message.role === 'user' && message.removed);
    expect(notes).toMatchObject([{ removed: { from: 'p', to: 'nresult_a6.0', count: 26 } }]);
  });
});

describe('condenseReplies', () => {
  it('puts the beginning of what was said, or the number of tools used, in the place of old replies', async () => {
    const silent = callAndResult('a2', 'x'.repeat(3000));
    const view = [
      user('p', 'Do it.'),
      ...callAndResult('a1', 'y'.repeat(3000), 'z'.repeat(500)),
      ...silent,
      ...conversation(1),
    ];
    const after = await apply(condenseReplies({ keepRecent: 4 }), view);
    expect(after.slice(0, 3)).toEqual([
      'p: Do it.',
      `new1: [Earlier reply, shortened; read it with recall({"handle":"a1..result_a1.0"})] ${'z'.repeat(200)}`,
      'new2: [Earlier reply, shortened; read it with recall({"handle":"a2..result_a2.0"})] (used 1 tool)',
    ]);
    expect(after).toHaveLength(7);
  });
});

describe('summarise', () => {
  it('puts the summary where the first message it stands for was, and keeps the newest turns', async () => {
    const asked: View[] = [];
    const world = { summaries: ['Steps 1 to 4 went well.'], asked, target: 1500 };
    const hello = assistant('hi', [{ type: 'text', text: 'Hello.' }]);
    const view = [user('old', 'Hello.'), hello, ...conversation(6, 'x'.repeat(1000))];
    const after = await apply(summarise({ keepRecentTurns: 3 }), view, world);
    expect(after[0]).toBe(
      'new1: [Summary of 10 earlier messages; read it with recall({"handle":"old..result_a4.0"})]\nSteps 1 to 4 went well.',
    );
    expect(after.slice(1).map((line) => line.split(':')[0])).toEqual([
      'p',
      'a5',
      'result_a5.0',
      'a6',
      'result_a6.0',
      'z',
    ]);
    // The model reads what the last call was sent, as it was: its prompt cache is of use.
    expect(asked).toEqual([view.slice(0, 11)]);
  });

  it('accumulates: earlier summaries stay where they are, and are not summed up again', async () => {
    const view = [user('p0', 'First.'), summaryMessage('s1'), ...conversation(8, 'x'.repeat(1000))];
    const after = await apply(summarise({ keepRecentTurns: 2, keepFirst: 1 }), view, {
      summaries: ['More.'],
      target: 1500,
    });
    expect(after.map((line) => line.split(':')[0]).slice(0, 5)).toEqual(['p0', 's1', 'p', 'new1', 'a8']);
  });

  it('keeps fewer turns when those it should keep are too much', async () => {
    const view = conversation(6, 'x'.repeat(1000));
    const world = { summaries: ['All of it.'], target: 900 };
    const after = await apply(summarise({ keepRecentTurns: 6 }), view, world);
    expect(after.map((line) => line.split(':')[0])).toEqual([
      'p',
      'new1',
      'a5',
      'result_a5.0',
      'a6',
      'result_a6.0',
      'z',
    ]);
  });

  it('does nothing when there is little to sum up', async () => {
    const view = conversation(8);
    expect(await summarise({ keepRecentTurns: 2 }).apply(view, contextOf())).toBe(view);
  });

  it('C2, C3: refuses a summary that is empty, or no shorter than what it sums up', () => {
    expect(summaryProblem('  ', 0, 100)).toContain('empty');
    expect(summaryProblem('long', 100, 100)).toContain('no shorter');
    expect(summaryProblem(' fine ', 2, 100)).toBeNull();
  });
});

describe('blockOverlay', () => {
  const run = (name: string, turns: number): Message[] =>
    conversation(turns, 'x'.repeat(1000)).map((message) =>
      message.role === 'tool'
        ? { ...message, id: `result_${name}${message.callId}`, callId: `${name}${message.callId}` }
        : message.role === 'assistant'
          ? {
              ...message,
              id: `${name}${message.id}`,
              content: message.content.map((block) =>
                block.type === 'tool_call' ? { ...block, callId: `${name}${block.callId}` } : block,
              ),
            }
          : { ...message, id: `${name}${message.id}` },
    );
  const ids = (lines: readonly string[]): string[] => lines.map((line) => line.split(':')[0] ?? '');

  it('shows a summary of each earlier run, and of the current one the first turns, a summary and the newest', async () => {
    const view = [...run('r1', 3), ...run('r2', 9)];
    const world = { summaries: ['The first run.', 'The middle.'] };
    const after = await apply(blockOverlay({ keepFirstTurns: 2, keepRecentTurns: 2 }), view, world);
    expect(ids(after)).toEqual([
      'new1',
      'r2p',
      'r2a1',
      'result_r2a1.0',
      'r2a2',
      'result_r2a2.0',
      'new2',
      'r2a9',
      'result_r2a9.0',
      'r2z',
    ]);
    expect(after[0]).toContain('The first run.');
  });

  it('never has a turn in two parts: a run of few turns stays', async () => {
    const view = run('r', 5);
    expect(ids(await apply(blockOverlay({ keepFirstTurns: 4, keepRecentTurns: 4 }), view))).toEqual(
      view.map(({ id }) => id),
    );
  });

  it('removes the runs before those that keep a summary', async () => {
    const view = [...run('r1', 2), ...run('r2', 2), ...run('r3', 2), ...run('r4', 1)];
    const after = await apply(blockOverlay({ keepRuns: 1 }), view, { summaries: ['The third run.'] });
    expect(after.slice(0, 2)).toEqual([
      'new1: [12 earlier messages of earlier runs removed to save space; read it with recall({"handle":"r1p..r2z"}).]',
      'new2: [Summary of 6 earlier messages; read it with recall({"handle":"r3p..r3z"})]\nThe third run.',
    ]);
  });
});

describe('clipOversized', () => {
  it('C4: cuts a message down that alone is too big, the newest prompt or result too, and points to all of it', async () => {
    const view = [user('p', 'q'.repeat(40_000)), ...callAndResult('a1', 'r'.repeat(40_000))];
    const after = await clipOversized(1000).apply(view, contextOf());
    const texts = shown(after);
    expect(texts[0]).toContain('cut out, for they don\'t fit; read it with recall({"handle":"p"})');
    expect(texts[2]).toContain('recall({"handle":"a1.0"})');
    expect(after.every((message) => estimateMessages([message]) <= 1000)).toBe(true);
  });

  it('C4: does the same with arguments and files', async () => {
    const call = { type: 'tool_call' as const, callId: 'c', name: 'write', arguments: { text: 'x'.repeat(40_000) } };
    const file = { type: 'file' as const, mediaType: 'application/pdf', name: 'a.pdf', data: 'A'.repeat(4_000_000) };
    const view: Message[] = [{ ...user('p', ''), content: [file] }, assistant('a', [call]), toolResult('c', 'ok')];
    const after = await clipOversized(1000).apply(view, contextOf());
    expect(after[0]).toMatchObject({
      content: [{ text: "[A file (a.pdf, application/pdf) was here; it doesn't fit.]" }],
    });
    expect(after[1]).toMatchObject({ content: [{ arguments: { removed: expect.stringContaining('"handle":"a"') } }] });
  });

  it('leaves what is pinned', async () => {
    const view = [{ ...user('p', 'q'.repeat(40_000)), pinned: true }];
    expect(await clipOversized(1000).apply(view, contextOf())).toBe(view);
  });
});
