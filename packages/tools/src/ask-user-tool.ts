import { defineTool, userQuestions, type JsonObject, type Tool, type ToolContext } from '@treadle/core';
import { answersOutput, ASK_USER_TOOL, nobodyToAsk, type UserAnswer, type UserQuestion } from '@treadle/core/tools';
import type { ArgumentsIssue } from '@treadle/core/ports';

/** Settings of {@link askUserTool}. */
export interface AskUserToolOptions {
  /**
   * Asks the user, in this process. Resolves to one answer per question, or to null when nobody can be asked. Must give
   * up when `context.signal` is aborted. Absent: the call is a client's to answer, and the run pauses for it.
   */
  readonly ask?: (
    questions: readonly UserQuestion[],
    context: ToolContext,
  ) => Promise<readonly UserAnswer[] | null> | readonly UserAnswer[] | null;
  /** Milliseconds that `ask` may take. Default: the agent's `toolTimeoutMs`. */
  readonly timeoutMs?: number;
}

const common = {
  name: ASK_USER_TOOL,
  label: 'Ask the user',
  description:
    'Asks the user one to four questions, when the answer changes what you do and you can not find it out. Each has two ' +
    'to four options; the user may also answer in their own words, so give no option "other". Put the option you would ' +
    'choose first. The result has the answers as JSON.',
  inputSchema: {
    type: 'object',
    properties: {
      questions: {
        type: 'array',
        minItems: 1,
        maxItems: 4,
        items: {
          type: 'object',
          properties: {
            question: { type: 'string', minLength: 1, description: 'The whole question, ending with a question mark.' },
            header: {
              type: 'string',
              minLength: 1,
              maxLength: 12,
              description: 'What it is about, in at most 12 characters: "Database".',
            },
            options: {
              type: 'array',
              minItems: 2,
              maxItems: 4,
              items: {
                type: 'object',
                properties: {
                  label: { type: 'string', minLength: 1, description: 'One to five words.' },
                  description: { type: 'string', description: 'What choosing it means.' },
                },
                required: ['label', 'description'],
                additionalProperties: false,
              },
            },
            multiSelect: { type: 'boolean', description: 'True when several options may be chosen. Default false.' },
          },
          required: ['question', 'header', 'options'],
          additionalProperties: false,
        },
      },
    },
    required: ['questions'],
    additionalProperties: false,
  },
  readOnly: true,
  // Asking again after a crash asks the same; nothing is changed by it.
  replay: 'safe',
  execution: 'sequential',
} as const;

/**
 * The tool `ask_user`: one to four questions with options to choose from, answered by the user. Without `ask` it is a
 * client's tool: the run pauses with the call in `pending`, and whoever is connected, in whatever process, answers it with
 * `answerQuestions` of core. With `ask` it is answered in this process. Result `details`: `{ answers }`.
 *
 * @example
 * ```ts
 * import { askUserTool } from '@treadle/tools';
 *
 * // A program without a user: the model is told that nobody can be asked, and goes on.
 * const headless = askUserTool({ ask: () => null });
 * console.log(headless.runs, askUserTool().runs); // server client
 * ```
 */
export function askUserTool(options: AskUserToolOptions = {}): Tool {
  const { ask, timeoutMs } = options;
  const tool =
    ask === undefined
      ? defineTool({ ...common, runs: 'client' })
      : defineTool({
          ...common,
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
          async execute(args, context) {
            const questions = userQuestions(args as JsonObject) ?? [];
            const answers = await ask(questions, context);
            if (answers !== null) return answersOutput(questions, answers);
            const { content, isError = true } = nobodyToAsk(context);
            return { content, isError };
          },
        });
  return Object.freeze({
    ...tool,
    check: (args, validator) => {
      const outcome = tool.check(args, validator);
      if (outcome instanceof Promise || !outcome.ok) return outcome;
      const issues = ambiguities(userQuestions(args) ?? []);
      return issues.length === 0 ? outcome : { ok: false, issues };
    },
  } satisfies Tool);
}

/** What a schema can't say: answers name their options, so labels must differ. */
function ambiguities(questions: readonly UserQuestion[]): ArgumentsIssue[] {
  return questions.flatMap(({ options }, index) =>
    options.flatMap(({ label }, place) =>
      options.findIndex((option) => option.label === label) === place
        ? []
        : [
            {
              path: `/questions/${index}/options/${place}/label`,
              message: `must differ from the other labels of its question, and "${label}" is there twice`,
            },
          ],
    ),
  );
}
