import { describe, expect, it } from 'vitest';
import { scriptedModel, testClock, type Turn } from '@treadle/testing';
import type { FilterVerdict } from '../../entries/features.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  isDurable,
  memoryJournal,
  type AgentDefinition,
  type DurableEvent,
  type InputGuardrail,
  type PromptInput,
  type Session,
} from '../../index.ts';

const pass: InputGuardrail = () => ({ verdict: 'pass' });
const warn =
  (message: string): InputGuardrail =>
  () => ({ verdict: 'warn', message });
const reject =
  (reason: string): InputGuardrail =>
  () => ({ verdict: 'reject', reason });
const noSecrets: InputGuardrail = (text) =>
  text.includes('secret') ? { verdict: 'reject', reason: 'That is a secret.' } : { verdict: 'pass' };

async function open(
  turns: readonly (Turn | string)[],
  inputGuardrails: NonNullable<AgentDefinition['inputGuardrails']>,
  more: Partial<AgentDefinition> = {},
) {
  const model = scriptedModel(turns);
  const session = await createSession(defineAgent({ model, inputGuardrails, ...more }), { id: 's' });
  const log: DurableEvent[] = [];
  session.subscribe((event) => isDurable(event) && log.push(event));
  return { model, session, log };
}

async function play(
  turns: readonly (Turn | string)[],
  filters: NonNullable<AgentDefinition['inputGuardrails']>,
  input: PromptInput = 'Hello.',
) {
  const opened = await open(turns, filters);
  return { ...opened, result: await opened.session.prompt(input as string).result };
}

const types = (log: readonly DurableEvent[]): string[] => log.map(({ type }) => type);
const lastText = (session: Session): unknown => session.messages.find(({ role }) => role === 'user');

describe('input filters', () => {
  it('let an input pass as it is, in their order', async () => {
    const seen: string[] = [];
    const note =
      (name: string): InputGuardrail =>
      (text, { origin }) => {
        seen.push(`${name} ${origin}: ${text}`);
        return { verdict: 'pass' };
      };
    const { result, session } = await play(['Hi.'], [note('a'), note('b')], [{ content: 'One.' }, { content: 'Two.' }]);
    expect(result.status).toBe('completed');
    expect(seen).toEqual(['a prompt: One.\nTwo.', 'b prompt: One.\nTwo.']);
    expect(session.messages).toHaveLength(3);
  });

  it('warn in brackets, at the end of the last message', async () => {
    const filters = [warn('Looks odd.'), pass, warn('Very odd.')];
    const { session, log, model } = await play(['Hi.'], filters, [{ content: 'One.' }, { content: 'Two.' }]);
    const texts = session.messages.slice(0, 2).map(({ ...message }) => ('content' in message ? message.content : []));
    expect(texts).toEqual([
      [{ type: 'text', text: 'One.' }],
      [
        { type: 'text', text: 'Two.' },
        { type: 'text', text: '[Warning: Looks odd.]' },
        { type: 'text', text: '[Warning: Very odd.]' },
      ],
    ]);
    expect(model.requests[0]?.messages).toEqual(session.messages.slice(0, 2));
    expect(log.find(({ type }) => type === 'decision_made')).toMatchObject({
      kind: 'filter',
      decision: { verdict: 'warn', warnings: ['Looks odd.', 'Very odd.'] },
    });
  });

  it('reject before the run: nothing of it starts, and nothing joins the history', async () => {
    let asked = 0;
    const after: InputGuardrail = () => {
      asked += 1;
      return { verdict: 'pass' };
    };
    const { result, log, model, session } = await play(['Hi.', 'Hi.'], [warn('Odd.'), reject('Not here.'), after]);
    expect(result).toMatchObject({ status: 'rejected', message: 'Not here.', messages: [], turns: 0 });
    expect(types(log)).toEqual(['drive_started', 'input_received', 'decision_made', 'input_rejected', 'run_ended']);
    expect(session.messages).toEqual([]);
    expect(model.requests).toEqual([]);
    expect(asked).toBe(0);
  });

  it('see the next prompt afresh', async () => {
    const { session } = await open(['Hi.'], [noSecrets]);
    expect((await session.prompt('A secret.').result).status).toBe('rejected');
    expect((await session.prompt('Good day.').result).status).toBe('completed');
    expect(lastText(session)).toMatchObject({ content: [{ text: 'Good day.' }] });
  });

  const crash: InputGuardrail = () => {
    throw new Error('boom');
  };
  it.each([
    ['crashes', crash, 'boom'],
    ['rejects its promise', () => Promise.reject(new Error('boom')), 'boom'],
    ['answers nonsense', () => 'fine' as unknown as FilterVerdict, 'no verdict'],
    ['answers nothing', () => undefined as unknown as FilterVerdict, 'no verdict'],
    ['warns of nothing', () => ({ verdict: 'warn' }) as unknown as FilterVerdict, 'no verdict'],
  ] as const)('have rejected when one %s', async (_how, filter, words) => {
    const { result } = await play(['Hi.'], [filter]);
    expect(result).toMatchObject({ status: 'rejected', message: expect.stringContaining(words) as string });
  });

  it('have rejected when one takes too long', async () => {
    const clock = testClock();
    const hangs = { name: 'Slow', execute: () => new Promise<FilterVerdict>(() => {}), timeoutMs: 50 };
    const agent = defineAgent({ model: scriptedModel(['Hi.'], { clock }), inputGuardrails: [hangs] });
    const session = await createSession(agent, { clock });
    const run = session.prompt('Hello.');
    for (let tries = 0; tries < 50 && session.activeRun; tries += 1) {
      await clock.advance(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await run.result).toMatchObject({ status: 'rejected', message: 'Slow took more than 50 ms.' });
  });

  const work = (session: () => Session, how: 'steer' | 'followUp', text: string) =>
    defineTool({
      name: 'work',
      description: 'Works, while somebody speaks.',
      execute: async () => {
        await session()[how](text);
        return 'worked';
      },
    });

  it.each(['steer', 'followUp'] as const)('reject what comes by %s: it is rejected, then the run ends', async (how) => {
    const holder: { session?: Session } = {};
    const tool = work(() => holder.session as Session, how, 'A secret.');
    const call = { toolCalls: [{ name: 'work' }] };
    const { session, log, model } = await open([call, 'Done.', 'More.'], [noSecrets], { tools: [tool] });
    holder.session = session;
    const result = await session.prompt('Hello.').result;
    expect(result).toMatchObject({ status: 'rejected', message: 'That is a secret.' });
    expect(types(log).slice(-3)).toEqual(['decision_made', 'input_rejected', 'run_ended']);
    expect(model.requests).toHaveLength(how === 'steer' ? 1 : 2);
    expect(JSON.stringify(session.messages)).not.toContain('A secret.');
  });

  it.each(['steer', 'followUp'] as const)('warn of what comes by %s', async (how) => {
    const holder: { session?: Session } = {};
    const tool = work(() => holder.session as Session, how, 'Hurry.');
    const filter: InputGuardrail = (text) =>
      text === 'Hurry.' ? { verdict: 'warn', message: 'Rude.' } : { verdict: 'pass' };
    const { session } = await open([{ toolCalls: [{ name: 'work' }] }, 'Done.', 'More.'], [filter], { tools: [tool] });
    holder.session = session;
    expect((await session.prompt('Hello.').result).status).toBe('completed');
    expect(session.messages).toContainEqual(
      expect.objectContaining({
        content: [
          { type: 'text', text: 'Hurry.' },
          { type: 'text', text: '[Warning: Rude.]' },
        ],
      }),
    );
  });

  it('see steering that waited for a run too', async () => {
    const { session, model } = await open(['Hi.'], [noSecrets]);
    await session.steer('A secret.');
    expect(await session.prompt('Hello.').result).toMatchObject({ status: 'rejected' });
    expect(model.requests).toEqual([]);
  });

  it('let nothing by that was cancelled before they saw it', async () => {
    const journal = memoryJournal();
    const model = scriptedModel(['Hi.', 'Hi.']);
    const session = await createSession(defineAgent({ model, inputGuardrails: [noSecrets] }), { journal, id: 's' });
    const input = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'A secret.' }] }] } as const;
    const { seq } = await journal.post('s', input, 'k1', 1);
    await journal.post('s', { type: 'cancel', inputSeq: seq }, 'k2', 2);
    await session.refresh();
    await session.prompt('Hello.').result;
    expect(JSON.stringify(session.messages)).not.toContain('A secret.');
  });

  it.each([[3], [{ execute: pass, timeoutMs: 0 }]])('refuse to be %j', (given) => {
    expect(() => defineAgent({ model: scriptedModel([]), inputGuardrails: [given as never] })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});
