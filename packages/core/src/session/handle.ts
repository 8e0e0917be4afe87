import type { Agent } from '../agent/agent.ts';
import type { AgentTypes } from '../agent/types.ts';
import { TreadleError } from '../errors.ts';
import type { LiveEvent, PendingCall } from '../events/events.ts';
import { isStream, userMessage, userMessages } from './input.ts';
import { checkMessages } from '../messages/check.ts';
import { conversationOf } from '../messages/conversation.ts';
import type { Message } from '../messages/message.ts';
import type { Run } from './run.ts';
import { answerApproval, answerQuestion } from './verbs/answers.ts';
import type { CloseOptions, Session } from './api.ts';
import { compactSession } from './verbs/compact.ts';
import { canResume } from './verbs/expiry.ts';
import { sessionStatus, type SessionStatus } from '../features/approvals/pending.ts';
import { clearQueue, queued } from './verbs/queue.ts';
import { pendingCalls, addToolOutput, addToolOutputs } from './verbs/tool-outputs.ts';
import * as runs from './runs.ts';
import { promptStream } from './stream.ts';
import { abortTasks, closeTasks, tasksOf } from './verbs/tasks.ts';
import type { TaskControl } from '../tools/task-control.ts';

/** A session over its parts. */
class SessionHandle implements Session {
  readonly #parts: runs.SessionParts;
  #closing: Promise<void> | null = null;

  constructor(parts: runs.SessionParts) {
    this.#parts = parts;
  }

  get id(): string {
    return this.#parts.sessionId;
  }
  get title(): string | null {
    return this.#parts.state.title;
  }
  get agent(): Agent {
    return this.#parts.agent;
  }
  get messages(): readonly Message[] {
    return this.#parts.state.view.slice();
  }
  get activeRun(): Run | null {
    return this.#parts.active?.control.run ?? null;
  }
  get pending(): readonly PendingCall[] {
    return pendingCalls(this.#parts);
  }
  get status(): SessionStatus {
    if (!runs.hasWork(this.#parts)) return 'idle';
    return sessionStatus(this.#parts.state) === 'paused' && !canResume(this.#parts) ? 'paused' : 'running';
  }
  get tasks(): TaskControl {
    return tasksOf(this.#parts).control;
  }
  get canResume(): boolean {
    return canResume(this.#parts);
  }

  // Methods that may be taken off the session and handed on.
  readonly prompt: Session['prompt'] = (input, options = {}) =>
    isStream(input) ? promptStream(this.#open, input, options) : runs.prompt(this.#open, userMessages(input), options);
  readonly continue: Session['continue'] = ({ continuation, ...options } = {}) =>
    runs.continueRun(this.#open, continuation ?? { kind: 'default' }, options);
  readonly resume: Session['resume'] = () => runs.resume(this.#open);
  readonly tidyUp: Session['tidyUp'] = () => runs.tidyUp(this.#open);
  readonly refresh: Session['refresh'] = () => runs.refresh(this.#parts);
  readonly steer: Session['steer'] = async (input) => {
    await this.#open.post({ type: 'steering', message: userMessage(input) });
  };
  readonly followUp: Session['followUp'] = async (input) => {
    await this.#open.post({ type: 'follow_up', message: userMessage(input) });
  };
  readonly queued: Session['queued'] = () => queued(this.#parts);
  readonly clearQueue: Session['clearQueue'] = (kind) => clearQueue(this.#open, kind);
  readonly addToolOutputs: Session['addToolOutputs'] = (results) => addToolOutputs(this.#open, results);
  readonly addToolOutput: Session['addToolOutput'] = (call, output, options) =>
    addToolOutput(this.#open, call, output, options);
  readonly answer: Session['answer'] = (question, answer) => answerQuestion(this.#open, question, answer);
  readonly approve: Session['approve'] = (approval, answer = {}) =>
    answerApproval(this.#open, approval, 'approve', answer);
  readonly reject: Session['reject'] = (approval, answer = {}) =>
    answerApproval(this.#open, approval, 'reject', answer);
  readonly updatePermissions: Session['updatePermissions'] = (updates) => runs.updatePermissions(this.#open, updates);
  readonly abort: Session['abort'] = async (reason) => {
    await runs.abort(this.#parts, reason);
    await abortTasks(this.#parts, reason);
  };
  readonly reset: Session['reset'] = () => runs.reset(this.#open);
  readonly close: Session['close'] = (options = {}) => (this.#closing ??= this.#close(options));
  readonly compact: Session['compact'] = ({ instructions } = {}) => compactSession(this.#open, instructions);
  readonly exportMessages: Session['exportMessages'] = () => structuredClone(conversationOf(this.#parts.state.view));
  readonly importMessages: Session['importMessages'] = async (messages) => {
    const { clock, ids } = this.#parts;
    const fill = { at: clock.now(), id: () => ids.create('msg') };
    await runs.replaceMessages(this.#open, checkMessages(messages, fill));
  };
  readonly addExtension: Session['addExtension'] = (kind, data) => runs.addExtension(this.#open, kind, data);
  readonly subscribe: Session['subscribe'] = (observer) => this.#parts.hub.subscribe(observer);
  readonly openMessage = (): LiveEvent[] => this.#parts.hub.openMessage();
  readonly idle: Session['idle'] = async () => {
    const parts = this.#parts;
    while (parts.active) await parts.active.ended;
  };
  readonly yield: Session['yield'] = async () => {
    this.#parts.hold.yield();
    await this.idle();
  };
  readonly settled: Session['settled'] = () => this.#parts.titler?.settled() ?? Promise.resolve();

  /** The parts, for what changes the session. */
  get #open(): runs.SessionParts {
    if (!this.#closing) return this.#parts;
    throw new TreadleError(
      'session_closed',
      `The session ${this.id} was closed here. Write: openSession(agent, '${this.id}', { journal })`,
    );
  }

  async #close({ abort = false, reason = 'other' }: CloseOptions): Promise<void> {
    const parts = this.#parts;
    if (abort) {
      await runs.abort(parts, reason);
      await abortTasks(parts, reason);
    }
    await closeTasks(parts);
    await runs.close(parts, reason);
  }

  /** What a session is made of, for the other files of the front door. */
  static partsOf(session: Session): runs.SessionParts {
    if (#parts in session) return session.#parts;
    throw new TreadleError('invalid_definition', 'This session was not made by createSession or openSession.');
  }
}

// What the log has of the agent's tools and output was made by that agent, so it has its types.
export const sessionOf = <Types extends AgentTypes>(parts: runs.SessionParts): Session<Types> =>
  new SessionHandle(parts) as Session as Session<Types>;

export const partsOf = (session: Session): runs.SessionParts => SessionHandle.partsOf(session);
