import { describe, expect, it } from 'vitest';
import { scriptedModel } from '@treadle/testing';
import type { ModelRequest } from '../../entries/model.ts';
import { createSession, defineAgent, defineTool, type Agent, type Session } from '../../index.ts';

const read = defineTool({
  name: 'read',
  description: 'Reads.',
  readOnly: true,
  execute: () => Array.from({ length: 400 }, (_, index) => `line ${index + 1} 😀`).join('\n'),
});

/** What the tool says when the model's next call has these arguments. */
async function recalled(session: Session, args: (request: ModelRequest) => object): Promise<string> {
  asked = args;
  await session.prompt('Recall it.').result;
  const result = session.messages.findLast((message) => message.role === 'tool');
  const [block] = result?.role === 'tool' ? result.content : [];
  return block?.type === 'text' ? block.text : '';
}

let asked: ((request: ModelRequest) => object) | null = null;

function agent(): Agent {
  const model = scriptedModel((request) => {
    const last = request.messages.at(-1);
    if (last?.role === 'tool') return { text: 'I see.', usage: null };
    if (asked === null) return { toolCalls: [{ name: 'read' }], usage: null };
    return { toolCalls: [{ name: 'recall', arguments: asked(request) as Record<string, never> }], usage: null };
  });
  return defineAgent({ model, tools: [read], context: {} });
}

/** A session with one call of `read` in its history. */
async function begun(): Promise<{ session: Session; callId: string; promptId: string }> {
  asked = null;
  const session = await createSession(agent());
  await session.prompt('Read it, please.').result;
  const [prompt, , result] = session.messages;
  return { session, callId: result?.role === 'tool' ? result.callId : '', promptId: prompt?.id ?? '' };
}

describe('recall', () => {
  it('reads a result by its call, in pieces that cut no character in half', async () => {
    const { session, callId } = await begun();
    const first = await recalled(session, () => ({ handle: callId, limit: 50 }));
    const [header = '', ...lines] = first.split('\n');
    expect(header).toMatch(/^\[Characters 0 to (49|50) of \d+\. Go on with offset (49|50)\.\]$/);
    expect(lines[0]).toBe('line 1 😀');
    expect(first.isWellFormed()).toBe(true);
    const rest = await recalled(session, () => ({ handle: callId, offset: 50, limit: 100_000 }));
    expect(rest).toMatch(/line 400 😀$/);
    expect(await recalled(session, () => ({ handle: callId, offset: 1_000_000 }))).toMatch(
      /^There are only \d+ characters\.$/,
    );
  });

  it('finds lines, whatever their case, with their numbers', async () => {
    const { session, callId } = await begun();
    expect(await recalled(session, () => ({ handle: callId, search: 'LINE 39' }))).toBe(
      [39, ...Array.from({ length: 10 }, (_, index) => 390 + index)].map((at) => `${at}: line ${at} 😀`).join('\n'),
    );
    expect(await recalled(session, () => ({ handle: callId, search: 'nowhere' }))).toBe('No line contains "nowhere".');
  });

  it('reads a range of messages as they happened, though the view has only a note of them', async () => {
    const { session, callId, promptId } = await begun();
    const text = await recalled(session, () => ({ handle: `${promptId}..result_${callId}` }));
    expect(text).toMatch(
      /^--- user \(.*\)\nRead it, please\.\n\n--- assistant \(.*\)\n\(called read with \{\}\)\n\n--- result of read/,
    );
  });

  it('says so when a handle names nothing', async () => {
    const { session } = await begun();
    expect(await recalled(session, () => ({ handle: 'nobody' }))).toBe('Nothing in this conversation is named nobody.');
  });

  it('does not reach behind a reset, or into other sessions', async () => {
    const { session, callId } = await begun();
    await session.reset();
    expect(await recalled(session, () => ({ handle: callId }))).toContain('Nothing in this conversation');
    const other = await begun();
    expect(await recalled(other.session, () => ({ handle: callId }))).toContain('Nothing in this conversation');
  });

  it('reads what was imported', async () => {
    const session = await createSession(agent());
    await session.importMessages([{ role: 'user', id: 'note', content: 'The old story.' }]);
    expect(await recalled(session, () => ({ handle: 'note' }))).toBe('The old story.');
  });

  it('is there for agents with a context policy, unless they say no', () => {
    const model = scriptedModel([]);
    expect(defineAgent({ model, context: {} }).tools.get('recall')?.readOnly).toBe(true);
    expect(defineAgent({ model, context: { recall: false } }).tools.size).toBe(0);
    expect(defineAgent({ model }).tools.size).toBe(0);
  });
});
