import { describe, expect, it } from 'vitest';
import { scriptedModel, testClock, type Turn } from '@treadle/testing';
import type { AnswerContext } from '../../entries/features.ts';
import {
  createSession,
  defineAgent,
  isDurable,
  memoryJournal,
  openSession,
  type AgentDefinition,
  type DurableEvent,
  type OutputGuardrail,
} from '../../index.ts';

async function play(
  turns: readonly (Turn | string)[],
  guardrail: NonNullable<AgentDefinition['outputGuardrails']>[number],
  more: Partial<AgentDefinition> = {},
) {
  const model = scriptedModel(turns);
  const session = await createSession(defineAgent({ model, outputGuardrails: [guardrail], ...more }));
  const log: DurableEvent[] = [];
  session.subscribe((event) => isDurable(event) && log.push(event));
  const result = await session.prompt('Go.').result;
  return { result, model, session, log };
}

const wantsDots: OutputGuardrail = (text) =>
  text.endsWith('.') ? { ok: true } : { ok: false, message: 'End with a full stop.' };

describe('output guardrails', () => {
  it('lets a good answer end the run, and is written down', async () => {
    const { result, log } = await play(['Fine.'], wantsDots);
    expect(result).toMatchObject({ status: 'completed', text: 'Fine.', turns: 1 });
    expect(log.find(({ type }) => type === 'decision_made')).toMatchObject({ kind: 'check', decision: { ok: true } });
  });

  it('gives the message to the model, which goes on: it costs a turn', async () => {
    const { result, model, session } = await play(['Fine', 'Fine.'], wantsDots);
    expect(result).toMatchObject({ status: 'completed', text: 'Fine.', turns: 2 });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'user',
      origin: 'check',
      content: [{ text: 'End with a full stop.' }],
    });
    expect(session.exportMessages().map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant']);
  });

  it('ends the run with an end of its own after the retries', async () => {
    const { result } = await play(['a', 'b', 'c', 'd', 'e'], wantsDots);
    expect(result).toMatchObject({ status: 'guardrail_failed', turns: 4 });
    expect(result.message).toContain('End with a full stop.');
    const strict = await play(['a'], { execute: wantsDots, retries: 0 });
    expect(strict.result).toMatchObject({ status: 'guardrail_failed', turns: 1 });
  });

  it('stays within the turn limit', async () => {
    const { result } = await play(['a', 'b', 'c'], wantsDots, { limits: { maxTurns: 2 } });
    expect(result).toMatchObject({ status: 'turn_limit', turns: 2 });
  });

  it.each([
    [
      'crashes',
      () => {
        throw new Error('boom');
      },
      /boom/,
    ],
    ['rejects', () => Promise.reject(new Error('boom')), /boom/],
    ['answers nonsense', (() => 'yes') as unknown as OutputGuardrail, /no verdict/],
    ['answers nothing', (() => undefined) as unknown as OutputGuardrail, /no verdict/],
  ])('fails closed when it %s: asking the model again would not mend it', async (_how, check, words) => {
    const { result } = await play(['Fine.', 'Fine.'], check);
    expect(result).toMatchObject({ status: 'guardrail_failed', turns: 1 });
    expect(result.message).toMatch(words);
  });

  it('fails closed when it hangs', async () => {
    const clock = testClock();
    const check: OutputGuardrail = () => new Promise(() => {});
    const agent = defineAgent({
      model: scriptedModel(['Fine.'], { clock }),
      outputGuardrails: [{ execute: check, timeoutMs: 500 }],
    });
    const session = await createSession(agent, { clock });
    const run = session.prompt('Go.');
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let tries = 0; tries < 50 && session.activeRun; tries += 1) {
      await clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await run.result).toMatchObject({
      status: 'guardrail_failed',
      message: expect.stringContaining('500 ms') as string,
    });
  });

  it('sees what a stop tool says, and which one it was', async () => {
    const seen: [string, AnswerContext['stopTool'], number][] = [];
    const check: OutputGuardrail = (text, { stopTool, failures }) => {
      seen.push([text, stopTool, failures]);
      return seen.length > 1 ? { ok: true } : { ok: false, message: 'More.' };
    };
    const done = (text: string) => ({ toolCalls: [{ name: 'task_completion', arguments: { result: text } }] });
    const { result } = await play([done('One.'), done('Two.')], check, { stopTools: true });
    expect(result).toMatchObject({ status: 'completed', text: 'Two.' });
    expect(seen).toEqual([
      ['One.', { name: 'task_completion', arguments: { result: 'One.' } }, 0],
      ['Two.', { name: 'task_completion', arguments: { result: 'Two.' } }, 1],
    ]);
  });

  it('is asked once: a log that has its word is not asked again', async () => {
    let asked = 0;
    const check: OutputGuardrail = () => {
      asked += 1;
      return { ok: true };
    };
    const journal = memoryJournal();
    const agent = defineAgent({ model: scriptedModel(['Fine.']), outputGuardrails: [check] });
    const session = await createSession(agent, { journal, id: 's' });
    await session.prompt('Go.').result;
    const again = await openSession(agent, 's', { journal });
    expect(again.status).toBe('idle');
    expect(asked).toBe(1);
  });

  it('is asked after the form: it sees answers that fit their schema', async () => {
    const seen: string[] = [];
    const check: OutputGuardrail = (text) => {
      seen.push(text);
      return { ok: true };
    };
    const output = { schema: { type: 'object', required: ['a'] }, mode: 'native' as const };
    const { result } = await play(['nothing', '{"a":1}'], check, { output });
    expect(result).toMatchObject({ status: 'completed', output: { a: 1 } });
    expect(seen).toEqual(['{"a":1}']);
  });

  it('are asked in their order, until one refuses, each with its own retries', async () => {
    const asked: string[] = [];
    const short: OutputGuardrail = (text) => {
      asked.push(`short ${text}`);
      return text.length < 8 ? { ok: true } : { ok: false, message: 'Be brief.' };
    };
    const polite: OutputGuardrail = (text) => {
      asked.push(`polite ${text}`);
      return text.includes('please') ? { ok: true } : { ok: false, message: 'Say please.' };
    };
    const model = scriptedModel(['Much too long.', 'Go.', 'Run.']);
    const outputGuardrails = [short, { execute: polite, retries: 1 }];
    const session = await createSession(defineAgent({ model, outputGuardrails }));
    const result = await session.prompt('Go.').result;
    expect(asked).toEqual(['short Much too long.', 'short Go.', 'polite Go.']);
    expect(result).toMatchObject({ status: 'guardrail_failed', turns: 2 });
  });

  it('is not asked about a run that failed', async () => {
    const check: OutputGuardrail = () => ({ ok: false, message: 'No.' });
    expect((await play([{ text: 'No.', stopReason: 'refusal' }], check)).result.status).toBe('refused');
  });

  it.each([
    [[{ execute: 3 }]],
    [[{ execute: wantsDots, retries: -1 }]],
    [[{ execute: wantsDots, timeoutMs: 0 }]],
    [wantsDots],
  ])('refuses %j', (given) => {
    expect(() => defineAgent({ model: scriptedModel([]), outputGuardrails: given as never })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});
