import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { defineAgent } from './agent/agent.ts';
import type { LiveEvent, TreadleEvent } from './events/events.ts';
import { memoryJournal } from './journal/memory.ts';
import type { Model } from './model/model.ts';
import { UNKNOWN_USAGE } from './model/usage.ts';
import { createSession, openSession, type Session } from './session/session.ts';
import { defineTool } from './tools/define/define.ts';

describe('a watcher who joins in the middle of a message', () => {
  /** Says one piece after the other, and lets `look` at the session after each. */
  const talking = (pieces: readonly string[], look: (piece: string) => void): Model => ({
    provider: 'talking',
    id: 'talking',
    async *stream() {
      for (const text of pieces) {
        yield text === 'begin anew' ? { type: 'start' } : { type: 'text_delta', index: 0, text };
        look(text);
      }
      yield { type: 'block_end', index: 0, block: { type: 'text', text: 'x' } };
      yield { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE };
    },
  });

  it('has it from its beginning, and from then on what comes, once', async () => {
    const seen: TreadleEvent[] = [];
    let session: Session | null = null;
    const model = talking(['One ', 'two ', 'three'], (piece) => {
      if (piece !== 'two ' || !session) return;
      seen.push(...session.openMessage());
      session.subscribe((event) => seen.push(event));
    });
    session = await createSession(defineAgent({ model }));
    await session.prompt('Count.').result;
    const deltas = seen.flatMap((event) => (event.type === 'message_delta' ? [event.text] : []));
    expect(deltas).toEqual(['One two ', 'three']);
    expect(session.openMessage()).toEqual([]);
  });

  it('is told how often the provider began it again', async () => {
    const open: (LiveEvent | undefined)[] = [];
    let session: Session | null = null;
    const model = talking(['One', 'begin anew', 'Two', 'begin anew', 'Three'], () =>
      open.push(session?.openMessage()[0]),
    );
    session = await createSession(defineAgent({ model }));
    await session.prompt('Count.').result;
    expect(open.map((event) => (event?.type === 'message_started' ? (event.restart ?? 0) : null))).toEqual([
      0, 1, 1, 2, 2,
    ]);
  });
});

describe('whether a session can go on', () => {
  it('is no while it is idle or waits for somebody, and yes once there is something to do', async () => {
    const journal = memoryJournal();
    const place = defineTool({ name: 'place', description: 'Where.', runs: 'client' });
    const model = scriptedModel([{ toolCalls: [{ name: 'place' }] }, 'There.']);
    const agent = defineAgent({ model, tools: [place] });
    const session = await createSession(agent, { journal });
    expect(session.canResume).toBe(false);
    const { pending } = await session.prompt('Where?').result;
    await session.idle();
    expect({ open: session.status !== 'idle', canResume: session.canResume }).toEqual({ open: true, canResume: false });
    const results = pending.map(({ callId }) => ({ callId, content: 'Oslo' }));
    await journal.post(session.id, { type: 'client_tool_results', results }, 'k', 0);
    const other = await openSession(agent, session.id, { journal });
    expect(other.canResume).toBe(true);
    await other.resume().result;
    expect(other.canResume).toBe(false);
  });
});
