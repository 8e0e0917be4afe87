import { describe, expect, it } from 'vitest';

import { answerQuestions, answersOutput, nobodyToAsk, userQuestions } from './user-questions.ts';

const options = [
  { label: 'SQLite', description: 'One file.' },
  { label: 'Postgres', description: 'A server.' },
];
const one = { question: 'Which database?', header: 'Database', options };
const many = { question: 'Which wires?', header: 'Wires', options, multiSelect: true };
const call = { callId: 'c1', arguments: { questions: [one, many] } };

describe('userQuestions', () => {
  it('reads the questions of a call; one choice is meant unless it says otherwise', () => {
    expect(userQuestions(call.arguments)).toEqual([{ ...one, multiSelect: false }, many]);
  });

  it('is null for anything else', () => {
    for (const questions of [undefined, 'x', [], [null], [{}], [{ ...one, options: [{ label: 'a' }] }]])
      expect(userQuestions({ questions })).toBeNull();
  });
});

describe('answerQuestions', () => {
  it('gives the answers as JSON, with chosen labels and words of the user', () => {
    const { callId, content } = answerQuestions(call, [
      { selected: [], other: ' a "plain" file\n' },
      { selected: ['Postgres', 'SQLite'], other: '' },
    ]);
    expect({ callId, content: JSON.parse(content) as unknown }).toEqual({
      callId: 'c1',
      content: {
        answers: [
          { question: 'Which database?', selected: [], other: 'a "plain" file' },
          { question: 'Which wires?', selected: ['Postgres', 'SQLite'] },
        ],
      },
    });
  });

  const good = { selected: ['SQLite'] };
  it.each([
    ['one answer per question: 2, and these are 1', [good]],
    [
      '/0 to "Which database?" chooses "MySQL", and the options are "SQLite", "Postgres"',
      [{ selected: ['MySQL'] }, good],
    ],
    ['/0 to "Which database?" chooses 2 options of which one is asked', [{ selected: ['SQLite', 'Postgres'] }, good]],
    ['/1 to "Which wires?" chooses the same option twice', [good, { selected: ['SQLite', 'SQLite'] }]],
    ['/1 to "Which wires?" chooses nothing and says nothing', [good, { selected: [], other: '  ' }]],
    ['/1 to "Which wires?" must be', [good, {} as never]],
    ['/1 to "Which wires?" has an "other" that is no text', [good, { selected: [], other: 3 as never }]],
  ])('refuses answers that are none: %s', (message, answers) => {
    expect(() => answerQuestions(call, answers)).toThrow(
      expect.objectContaining({ code: 'invalid_answer', message: expect.stringContaining(message) as string }) as Error,
    );
  });

  it('refuses a call without questions', () => {
    expect(() => answerQuestions({ callId: 'c', arguments: {} }, [])).toThrow(
      expect.objectContaining({ code: 'invalid_answer' }) as Error,
    );
  });
});

it('answersOutput has the answers as details too', () => {
  expect(answersOutput([{ ...one, multiSelect: false }], [{ selected: ['SQLite'] }]).details).toEqual({
    answers: [{ question: 'Which database?', selected: ['SQLite'] }],
  });
});

it('nobodyToAsk tells the model to decide by itself', () => {
  expect(nobodyToAsk(call)).toMatchObject({ callId: 'c1', isError: true });
  expect(nobodyToAsk(call).content).toContain('Nobody can be asked');
});
