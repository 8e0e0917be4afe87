import type { ClientToolResult, PendingCall } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import type { ToolResult } from './tool.ts';

/** The name of the tool that puts questions to the user. */
export const ASK_USER_TOOL = 'ask_user';

/** An answer that a question offers. */
export interface UserQuestionOption {
  readonly label: string;
  /** What choosing it means. */
  readonly description: string;
}

/** A question to the user, with options to choose from. A text of the user's own is always an answer too. */
export interface UserQuestion {
  readonly question: string;
  /** What it is about, in at most 12 characters. */
  readonly header: string;
  /** 2 to 4, with different labels. */
  readonly options: readonly UserQuestionOption[];
  /** Several options may be chosen. */
  readonly multiSelect: boolean;
}

/** The answer to one question: chosen labels, words of the user's own, or both. */
export interface UserAnswer {
  readonly selected: readonly string[];
  readonly other?: string;
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const isOption = (value: JsonValue): value is JsonValue & UserQuestionOption =>
  isJsonObject(value) && typeof value['label'] === 'string' && typeof value['description'] === 'string';

/** The questions of an `ask_user` call; null when they don't have the shape. */
export function userQuestions({ questions }: JsonObject): readonly UserQuestion[] | null {
  if (!Array.isArray(questions) || questions.length === 0) return null;
  const read: UserQuestion[] = [];
  for (const value of questions as readonly JsonValue[]) {
    if (!isJsonObject(value)) return null;
    const { question, header, options, multiSelect } = value;
    if (typeof question !== 'string' || typeof header !== 'string') return null;
    if (!Array.isArray(options) || !options.every(isOption)) return null;
    read.push({
      question,
      header,
      options,
      multiSelect: multiSelect === true,
    });
  }
  return read;
}

/**
 * What a client posts for an `ask_user` call that waits: the answers, one per question and in their order.
 *
 * @throws TreadleError `invalid_answer` when they don't answer the call's questions. The message says which and why.
 * @example
 * ```ts
 * import { answerQuestions, createSession, defineAgent } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 * import { askUserTool } from '@treadle/tools';
 *
 * const options = [
 *   { label: 'SQLite', description: 'One file.' },
 *   { label: 'Postgres', description: 'A server.' },
 * ];
 * const questions = [{ question: 'Which database?', header: 'Database', options }];
 * const model = scriptedModel([{ toolCalls: [{ name: 'ask_user', arguments: { questions } }] }, 'SQLite it is.']);
 * const session = await createSession(defineAgent({ model, tools: [askUserTool()] }));
 *
 * const asked = await session.prompt('Set up storage.').result;
 * const results = asked.pending.map((call) => answerQuestions(call, [{ selected: ['SQLite'] }]));
 * console.log((await session.addToolOutputs(results).result).text); // SQLite it is.
 * ```
 */
export function answerQuestions(
  call: Pick<PendingCall, 'callId' | 'arguments'>,
  answers: readonly UserAnswer[],
): ClientToolResult & { readonly content: string } {
  const questions = userQuestions(call.arguments);
  if (questions === null)
    throw new TreadleError('invalid_answer', `The call ${call.callId} has no questions that could be answered.`);
  const { content } = answersOutput(questions, answers);
  return { callId: call.callId, content };
}

const NOBODY =
  'Nobody can be asked: this run has no user at hand. Decide by yourself, by what was asked and what you find, and say ' +
  'in your answer what you assumed.';

/** The result of an `ask_user` call that nobody is there to answer: an error that tells the model to go on by itself. */
export const nobodyToAsk = (call: Pick<PendingCall, 'callId'>): ClientToolResult & { readonly content: string } => ({
  callId: call.callId,
  content: NOBODY,
  isError: true,
});

/**
 * The result of an `ask_user` call: JSON that no answer can be mistaken in.
 *
 * @throws TreadleError `invalid_answer` when the answers don't answer the questions.
 */
export function answersOutput(
  questions: readonly UserQuestion[],
  answers: readonly UserAnswer[],
): ToolResult & { readonly content: string } {
  if (answers.length !== questions.length) {
    throw new TreadleError(
      'invalid_answer',
      `There must be one answer per question: ${questions.length}, and these are ${answers.length}.`,
    );
  }
  const read = questions.map((question, index) => readAnswer(question, answers[index], `/${index}`));
  return { content: JSON.stringify({ answers: read }), details: { answers: read } };
}

function readAnswer(question: UserQuestion, answer: UserAnswer | undefined, path: string): JsonObject {
  const refuse = (problem: string): never => {
    throw new TreadleError('invalid_answer', `The answer ${path} to ${JSON.stringify(question.question)} ${problem}.`, {
      details: { path },
    });
  };
  if (!answer || !isList(answer.selected)) return refuse('must be { selected: […], other?: "…" }');
  const { other, selected } = answer;
  const labels = question.options.map(({ label }) => label);
  const strange = selected.find((label) => !labels.includes(label));
  if (strange !== undefined)
    refuse(`chooses ${JSON.stringify(strange)}, and the options are ${labels.map((one) => `"${one}"`).join(', ')}`);
  if (new Set(selected).size !== selected.length) refuse('chooses the same option twice');
  if (!question.multiSelect && selected.length > 1) refuse(`chooses ${selected.length} options of which one is asked`);
  if (other !== undefined && typeof other !== 'string') refuse('has an "other" that is no text');
  const words = other?.trim() ?? '';
  if (selected.length === 0 && words === '') refuse('chooses nothing and says nothing');
  return { question: question.question, selected: [...selected], ...(words === '' ? {} : { other: words }) };
}
