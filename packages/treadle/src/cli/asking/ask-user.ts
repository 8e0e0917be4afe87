import { answerQuestions, userQuestions, type ClientToolResult, type PendingCall } from '@treadle/core';
import { ASK_USER_TOOL, nobodyToAsk, type UserAnswer, type UserQuestion } from '@treadle/core/tools';

import type { Printer } from '../io.ts';
import type { Style } from '../style.ts';
import { plainLine, plainText } from './plain-text.ts';
import type { Terminal } from './terminal.ts';

/** Who answers questions, and where they are shown. */
export interface Asking {
  readonly terminal: Terminal;
  readonly out: Pick<Printer, 'print' | 'endLine'>;
  readonly style: Style;
  /** Resolves when the run is to end: nobody waits for an answer any more. */
  readonly stopped: Promise<unknown>;
  isStopped(): boolean;
}

/**
 * The answers to all that a paused run waits for: asked in the terminal, or the news that nobody can be asked. Null when
 * it waits for something else too, or is to end.
 */
export async function answersFor(pending: readonly PendingCall[], asking: Asking): Promise<ClientToolResult[] | null> {
  if (pending.length === 0 || pending.some((call) => call.toolName !== ASK_USER_TOOL || call.approvalId !== undefined))
    return null;
  const results: ClientToolResult[] = [];
  for (const call of pending) {
    const questions = userQuestions(call.arguments);
    const answers = questions && asking.terminal.isThere ? await askAll(questions, asking) : null;
    if (answers === 'stopped') return null;
    if (answers !== null) results.push(answerQuestions(call, answers));
    else results.push(asking.terminal.pick ? declined(call) : nobodyToAsk(call));
  }
  return results;
}

/** The user has put the question away. */
const declined = ({ callId }: Pick<PendingCall, 'callId'>): ClientToolResult => ({
  callId,
  content: 'The user closed the question without an answer. Go on as far as you can without it, or say what you need.',
  isError: true,
});

const NO_ANSWER: UserAnswer = { selected: [], other: '(closed without an answer)' };

/** Null when the user ended the input, or put the first question away. */
async function askAll(questions: readonly UserQuestion[], asking: Asking): Promise<UserAnswer[] | 'stopped' | null> {
  const answers: UserAnswer[] = [];
  for (const [index, question] of questions.entries()) {
    const place = questions.length === 1 ? '' : ` (${index + 1} of ${questions.length})`;
    const answer = await askOne(question, place, asking);
    if (answer === 'stopped') return answer;
    // Earlier answers count.
    if (answer === null && (answers.length === 0 || !asking.terminal.pick)) return null;
    answers.push(answer ?? NO_ANSWER);
    if (answer === null) return [...answers, ...questions.slice(answers.length).map(() => NO_ANSWER)];
  }
  return answers;
}

async function askOne(question: UserQuestion, place: string, asking: Asking): Promise<UserAnswer | 'stopped' | null> {
  const { terminal, out, stopped, isStopped } = asking;
  if (terminal.pick && !question.multiSelect) {
    const title = plainText(`${question.question}${place}`);
    const items = question.options.map(({ label, description }) => ({
      text: plainLine(label, 60),
      about: plainLine(description, 200),
    }));
    const at = await terminal.pick(title, [...items, { text: OTHER }], stopped, true);
    if (at === null) return isStopped() ? 'stopped' : null;
    if (typeof at === 'string') return { selected: [], other: at };
    const chosen = question.options[at];
    if (chosen) return { selected: [chosen.label] };
    const words = await terminal.ask(`${title}\n> `, stopped);
    // Nothing typed, or Esc: back to the list.
    if (words === null || words.trim() === '') return isStopped() ? 'stopped' : askOne(question, place, asking);
    return { selected: [], other: words.trim() };
  }
  let wrong = '';
  for (;;) {
    out.endLine();
    out.print(`\n${questionLines(question, place)}${wrong}`);
    const line = await terminal.ask('> ', stopped);
    if (line === null) return isStopped() ? 'stopped' : null;
    const answer = readAnswer(line, question);
    if (typeof answer !== 'string') return answer;
    wrong = `${answer}\n`;
  }
}

const OTHER = 'another answer…';

function questionLines({ question, header, options, multiSelect }: UserQuestion, place: string): string {
  const lines = options.map(({ label, description }, index) => {
    const about = description.trim() === '' ? '' : ` · ${plainLine(description, 200)}`;
    return `  ${index + 1}. ${plainLine(label, 60)}${about}\n`;
  });
  return `[${plainLine(header, 12)}] ${plainLine(question, 1000)}${place}\n${lines.join('')}${HOW[multiSelect ? 'many' : 'one']}\n`;
}

const HOW = {
  one: 'Type a number, or an answer of your own.',
  many: 'Type numbers with commas between them, or an answer of your own.',
};

/** The answer that a typed line gives; a text says what is wrong with it. */
function readAnswer(line: string, { options, multiSelect }: UserQuestion): UserAnswer | string {
  const words = line.trim();
  if (words === '') return HOW[multiSelect ? 'many' : 'one'];
  if (!/^\d+(?:[\s,]+\d+)*$/.test(words)) return { selected: [], other: words };
  const numbers = [...new Set(words.split(/[\s,]+/).map(Number))];
  const labels = numbers.flatMap((number) => options[number - 1]?.label ?? []);
  if (labels.length !== numbers.length) return `There are the numbers 1 to ${options.length}.`;
  if (!multiSelect && labels.length > 1) return 'Choose one of them.';
  return { selected: labels };
}
