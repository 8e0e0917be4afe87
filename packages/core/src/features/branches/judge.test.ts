import { scriptedModel, testClock, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { estimateText } from '../../messages/estimate.ts';
import { llmJudge, pairwiseJudge, type BranchOutcome, type EvaluationContext } from '../../entries/branches.ts';
import type { ModelRequest } from '../../entries/model.ts';
import { fitToBudget, shrunk } from './shrink.ts';

const outcome = (index: number, text: string, output = 10): BranchOutcome => ({
  index,
  sessionId: `b${index}`,
  configId: `c${index}`,
  runId: `b${index}.c.1`,
  status: 'completed',
  message: null,
  text: text,
  messages: [
    {
      role: 'assistant',
      id: `m${index}`,
      at: 0,
      provider: 'p',
      model: 'm',
      content: [{ type: 'text', text }],
      stopReason: 'stop',
      usage: { input: 0, output, cacheRead: null, cacheWrite: null, reasoning: null },
      cost: null,
    },
  ],
  turns: 1,
  usage: { input: 0, output, cacheRead: null, cacheWrite: null, reasoning: null },
  cost: null,
  folder: null,
});

function contextOf(history: EvaluationContext['history'] = []) {
  const warnings: string[] = [];
  const context: EvaluationContext = {
    query: 'How much is two and two?',
    history,
    signal: new AbortController().signal,
    clock: testClock(),
    warn: (message) => void warnings.push(message),
  };
  return { context, warnings };
}

const textOf = ({ messages }: ModelRequest): string =>
  messages
    .flatMap((message) => message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])))
    .join('');

const answersIn = (request: ModelRequest): string[] =>
  [...textOf(request).matchAll(/<answer number="\d+">\n([\s\S]*?)\n<\/answer>/g)].map(([, text]) => text ?? '');

const THREE = [outcome(0, 'Three.'), outcome(1, 'Four.'), outcome(2, 'Five.')];

describe('a judge', () => {
  it('sees the request, what was before and all answers, and its usage and its reasons are known', async () => {
    const model = scriptedModel([{ text: 'The second is right.\nBEST: 2', usage: { input: 50, output: 7 } }], {
      cost: () => 0.01,
    });
    const before = {
      role: 'user',
      id: 'u',
      at: 0,
      origin: 'prompt',
      content: [{ type: 'text', text: 'I learn.' }],
    } as const;
    const { context, warnings } = contextOf([before]);
    const chosen = await llmJudge({ model, instructions: 'Prefer short ones.' }).evaluate(THREE, context);
    expect(chosen).toMatchObject({ selectedIndex: 1, usage: { input: 50, output: 7 }, cost: 0.01 });
    expect(chosen.reason).toContain('The second is right.');
    const [request] = model.requests;
    expect(request && textOf(request)).toContain('I learn.');
    expect(request && textOf(request)).toContain('How much is two and two?');
    expect(request && answersIn(request)).toEqual(['assistant: Three.', 'assistant: Four.', 'assistant: Five.']);
    expect(request?.system).toContain('Prefer short ones.');
    expect(warnings).toEqual([]);
  });

  it('is asked once more when it names none, then the first is taken with a warning', async () => {
    const undecided = scriptedModel(['Hard to say.', 'BEST: 3']);
    const { context, warnings } = contextOf();
    expect((await llmJudge({ model: undecided }).evaluate(THREE, context)).selectedIndex).toBe(2);
    const mute = scriptedModel([{ error: { kind: 'api', message: 'down', retryable: true } }, 'BEST: 9']);
    expect((await llmJudge({ model: mute }).evaluate(THREE, context)).selectedIndex).toBe(0);
    expect(warnings).toEqual([expect.stringContaining('down'), expect.stringContaining('the first is taken')]);
  });

  it('is not asked about one branch', async () => {
    const model = scriptedModel([]);
    const { context } = contextOf();
    expect((await llmJudge({ model }).evaluate([outcome(4, 'Four.')], context)).selectedIndex).toBe(4);
  });

  it('that does not answer in time has named none', async () => {
    const clock = testClock();
    const { context, warnings } = contextOf();
    const model = scriptedModel(() => new Promise<string>(() => {}));
    const evaluated = llmJudge({ model, timeoutMs: 1000 }).evaluate(THREE, { ...context, clock });
    await clock.advance(2000);
    expect((await evaluated).selectedIndex).toBe(0);
    expect(warnings[0]).toContain('1000 ms');
  });
});

describe('a biased judge', () => {
  /** Prefers what it reads first, unless the other one is right and this one is not. */
  const biased = (request: ModelRequest): Turn => {
    const answers = answersIn(request);
    const right = answers.findIndex((answer) => answer.includes('Four'));
    return { text: `BEST: ${right < 0 || answers[0]?.includes('Four') ? 1 : right + 1}` };
  };
  const alwaysFirst = (): Turn => ({ text: 'BEST: 1' });

  it('in pairs selects the same branch in whatever order they stand', async () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
    ]) {
      const outcomes = order.flatMap((index) => THREE[index] ?? []);
      const { context } = contextOf();
      const chosen = await pairwiseJudge({ model: scriptedModel(biased) }).evaluate(outcomes, context);
      expect(chosen.selectedIndex).toBe(1);
    }
  });

  it('who only looks at the place has no say in pairs, where alone it has', async () => {
    const outcomes = [outcome(0, 'A long answer.', 90), outcome(1, 'A short one.', 10), outcome(2, 'Another.', 50)];
    const { context } = contextOf();
    const alone = await llmJudge({ model: scriptedModel(alwaysFirst) }).evaluate(outcomes, context);
    const reversed = await llmJudge({ model: scriptedModel(alwaysFirst) }).evaluate(outcomes.toReversed(), context);
    expect([alone.selectedIndex, reversed.selectedIndex]).toEqual([0, 2]);
    const model = scriptedModel(alwaysFirst);
    const pairs = await pairwiseJudge({ model }).evaluate(outcomes, context);
    const back = await pairwiseJudge({ model }).evaluate(outcomes.toReversed(), context);
    expect([pairs.selectedIndex, back.selectedIndex]).toEqual([1, 1]);
    expect(model.requests).toHaveLength(12);
    expect(pairs.reason).toBe('Points: c0: 1, c1: 1, c2: 1.');
  });
});

describe('what a judge is shown', () => {
  const paragraphs = (count: number): string =>
    Array.from(
      { length: count },
      (_, index) => `Paragraph ${index} begins. And then it goes on for quite a while.`,
    ).join('\n\n');

  it('is whole while it fits', () => {
    const texts = { context: 'before', outputs: ['one', 'two'] };
    expect(fitToBudget(texts, 100)).toEqual({ ...texts, isComprehensible: true });
  });

  it('first loses of the conversation before, and the answers stay whole', () => {
    const outputs = [paragraphs(3), paragraphs(4)];
    const fitted = fitToBudget({ context: paragraphs(200), outputs }, 400);
    expect(fitted.outputs).toEqual(outputs);
    expect(fitted.context).toContain('Paragraph 199');
    expect(fitted.context).not.toContain('Paragraph 0 ');
    expect(estimateText(fitted.context) + estimateText(outputs.join(''))).toBeLessThanOrEqual(402);
  });

  it('then of both, each by itself, and says when too little is left of an answer', () => {
    const texts = { context: paragraphs(200), outputs: [paragraphs(100), paragraphs(150)] };
    const fitted = fitToBudget(texts, 1000);
    expect(fitted.isComprehensible).toBe(true);
    for (const output of fitted.outputs) expect(estimateText(output)).toBeLessThanOrEqual(375);
    expect(estimateText(fitted.context)).toBeLessThanOrEqual(250);
    expect(fitToBudget(texts, 60).isComprehensible).toBe(false);
  });

  it('warns, and judges all the same', async () => {
    const model = scriptedModel(['BEST: 2']);
    const { context, warnings } = contextOf();
    const outcomes = [outcome(0, paragraphs(100)), outcome(1, paragraphs(100))];
    expect((await llmJudge({ model, maxTokens: 60 }).evaluate(outcomes, context)).selectedIndex).toBe(1);
    expect(warnings).toEqual([expect.stringContaining('too small')]);
  });

  it('is made smaller by dropping the beginning, then to first sentences, then by force', () => {
    expect(shrunk(paragraphs(3), 1000)).toBe(paragraphs(3));
    expect(shrunk(paragraphs(100), 200)).toMatch(/^\[…\]\n\nParagraph \d\d begins[\s\S]*Paragraph 99 begins/);
    const long = Array.from({ length: 3 }, (_, index) => `Point ${index}. ${'x'.repeat(1000)}`).join('\n\n');
    expect(shrunk(long, 100)).toBe('Point 0. […]\n\nPoint 1. […]\n\nPoint 2. […]');
    expect(estimateText(shrunk('y'.repeat(10_000), 100))).toBeLessThanOrEqual(100);
    expect(estimateText(shrunk('ü'.repeat(10_000), 100))).toBeLessThanOrEqual(100);
  });
});
