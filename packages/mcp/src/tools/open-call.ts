import type { ElicitResult, RequestOptions } from '@modelcontextprotocol/client';
import type { Clock, ToolContext, ToolResult } from '@treadle/core';

import { McpProblem } from '../client/problem.ts';
import { elicitResult, questionKey } from './elicitation.ts';
import type { Elicitation } from './elicitation.ts';

/** What a call needs of the tool's context. */
export type CallContext = Pick<ToolContext, 'sessionId' | 'callId' | 'signal' | 'answers' | 'taskId' | 'progress'>;

/** A question of a server that waits for its answer inside a request that goes on. */
interface HeldQuestion {
  readonly key: string;
  readonly params: Elicitation;
  readonly settle: (result: ElicitResult) => void;
}

/** The longest timer there is. The time limits are ours: they rest while a person is asked. */
const NEVER_MS = 2_147_483_647;

/**
 * One request to a server, over as many attempts of its tool call as people are asked in between. In this process the request
 * stays open meanwhile.
 */
export class OpenCall {
  /** What the request comes to. */
  done: Promise<ToolResult> = Promise.reject(new Error('not begun'));
  readonly questions: HeldQuestion[] = [];
  #context: CallContext;
  readonly #server: string;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #abort = new AbortController();
  #cancelTimer: () => void = () => {};
  #unlisten: () => void = () => {};
  #asked = 0;
  #onQuestion: () => void = () => {};

  constructor(server: string, context: CallContext, timeoutMs: number, clock: Clock) {
    this.#server = server;
    this.#context = context;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.done.catch(() => {});
    this.attend(context);
  }

  get context(): CallContext {
    return this.#context;
  }

  get hasAsked(): boolean {
    return this.#asked > 0;
  }

  /** Another attempt of the call waits for it from now on. */
  attend(context: CallContext): void {
    this.#context = context;
    this.#unlisten();
    const stop = (): void => this.stop(new McpProblem('cancelled', `The call to ${this.#server} was cancelled.`));
    if (context.signal.aborted) stop();
    context.signal.addEventListener('abort', stop);
    this.#unlisten = () => context.signal.removeEventListener('abort', stop);
    this.#touch();
  }

  /** How the SDK is to send it. */
  get options(): RequestOptions {
    return {
      signal: this.#abort.signal,
      timeout: NEVER_MS,
      onprogress: ({ progress, total, message }) => {
        this.#touch();
        const share = total === undefined ? String(progress) : `${progress}/${total}`;
        this.#context.progress(message === undefined ? share : `${message} (${share})`);
      },
    };
  }

  /** Cancels the request at the server. */
  stop(problem: McpProblem): void {
    this.#abort.abort(problem);
    for (const { settle } of this.questions.splice(0)) settle({ action: 'cancel' });
  }

  /** Why it was stopped; null when it wasn't. */
  get stopped(): McpProblem | null {
    const reason: unknown = this.#abort.signal.aborted ? this.#abort.signal.reason : null;
    return reason instanceof McpProblem ? reason : null;
  }

  /** The server asks within the request. Answered at once where the call has the answer already. */
  ask(params: Elicitation, signal: AbortSignal): Promise<ElicitResult> {
    const key = questionKey(this.#asked++, params);
    const known = this.#answerTo(key, params);
    if (known) return Promise.resolve(known);
    // In the background nobody can be asked.
    if (this.#context.taskId !== undefined) return Promise.resolve({ action: 'cancel' });
    return new Promise((resolve) => {
      const question: HeldQuestion = { key, params, settle: resolve };
      this.questions.push(question);
      signal.addEventListener('abort', () => {
        const at = this.questions.indexOf(question);
        if (at >= 0) this.questions.splice(at, 1);
      });
      this.#onQuestion();
    });
  }

  /** The result, or the question that is to be answered before there can be one. */
  async next(): Promise<ToolResult | HeldQuestion> {
    for (const question of [...this.questions]) {
      const answer = this.#answerTo(question.key, question.params);
      if (!answer) continue;
      this.questions.splice(this.questions.indexOf(question), 1);
      question.settle(answer);
    }
    const asked = new Promise<HeldQuestion>((resolve) => {
      this.#onQuestion = () => {
        const [question] = this.questions;
        if (question) resolve(question);
      };
      this.#onQuestion();
    });
    const outcome = await Promise.race([this.done, asked]);
    this.#onQuestion = () => {};
    // While a person is asked no time limit runs; a call that is over needs none.
    this.#cancelTimer();
    this.#unlisten();
    return outcome;
  }

  #answerTo(key: string, params: Elicitation): ElicitResult | null {
    const answer = this.#context.answers?.findLast((each) => each.key === key);
    const made = answer && elicitResult(params, answer);
    return made && 'result' in made ? made.result : null;
  }

  #touch(): void {
    this.#cancelTimer();
    const late = `The MCP server ${this.#server} gave no sign for ${this.#timeoutMs} ms, and the call was cancelled.`;
    this.#cancelTimer = this.#clock.after(this.#timeoutMs, () =>
      this.stop(new McpProblem('timeout', `${late} Whether it took effect is unknown.`)),
    );
  }
}
