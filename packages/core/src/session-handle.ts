import type { Agent } from './agent.ts';
import { TreadleError } from './errors.ts';
import type { PendingCall } from './events/events.ts';
import { isStream, userMessage, userMessages } from './input.ts';
import { checkMessages } from './messages/check.ts';
import { conversationOf } from './messages/conversation.ts';
import type { Message } from './messages/message.ts';
import type { Run } from './run.ts';
import { answerApproval } from './session-answers.ts';
import type { Session } from './session-api.ts';
import { compactSession } from './session-compact.ts';
import { canGoOn } from './session-expiry.ts';
import { clearQueue, queued } from './session-queue.ts';
import { pendingCalls, submitToolResults } from './session-results.ts';
import * as runs from './session-runs.ts';
import { promptStream } from './session-stream.ts';
import { abortTasks, closeTasks, tasksOf } from './session-tasks.ts';
import type { TaskControl } from './tasks/control.ts';

/** Those that were asked for. */
type Methods = { -readonly [Name in keyof Session]?: Session[Name] };

/** A class for its getters, which an object literal would make anew for every session. */
class SessionHandle implements Session {
  readonly #parts: runs.SessionParts;
  #methods: Methods | null = null;

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
  get hasOpenRun(): boolean {
    return runs.hasWork(this.#parts);
  }
  get tasks(): TaskControl {
    return tasksOf(this.#parts).control;
  }
  get canGoOn(): boolean {
    return canGoOn(this.#parts);
  }

  // Methods may be taken off the session and handed on. Most are never asked for, and sessions are many: each is made then.
  get prompt(): Session['prompt'] {
    return this.#bound('prompt', (input, options = {}) =>
      isStream(input)
        ? promptStream(this.#parts, input, options)
        : runs.prompt(this.#parts, userMessages(input), options),
    );
  }
  get continue(): Session['continue'] {
    return this.#bound('continue', ({ continuation, ...options } = {}) =>
      runs.continueRun(this.#parts, continuation ?? { kind: 'default' }, options),
    );
  }
  get resume(): Session['resume'] {
    return this.#bound('resume', () => runs.resume(this.#parts));
  }
  get tidyUp(): Session['tidyUp'] {
    return this.#bound('tidyUp', () => runs.tidyUp(this.#parts));
  }
  get refresh(): Session['refresh'] {
    return this.#bound('refresh', () => runs.refresh(this.#parts));
  }
  get steer(): Session['steer'] {
    return this.#bound('steer', async (input) => {
      await this.#parts.post({ type: 'steering', message: userMessage(input) });
    });
  }
  get followUp(): Session['followUp'] {
    return this.#bound('followUp', async (input) => {
      await this.#parts.post({ type: 'follow_up', message: userMessage(input) });
    });
  }
  get queued(): Session['queued'] {
    return this.#bound('queued', () => queued(this.#parts));
  }
  get clearQueue(): Session['clearQueue'] {
    return this.#bound('clearQueue', (kind) => clearQueue(this.#parts, kind));
  }
  get submitToolResults(): Session['submitToolResults'] {
    return this.#bound('submitToolResults', (results) => submitToolResults(this.#parts, results));
  }
  get answerApproval(): Session['answerApproval'] {
    return this.#bound('answerApproval', (approvalId, decision, said = {}) =>
      answerApproval(this.#parts, approvalId, decision, typeof said === 'string' ? { message: said } : said),
    );
  }
  get updatePermissions(): Session['updatePermissions'] {
    return this.#bound('updatePermissions', (updates) => runs.updatePermissions(this.#parts, updates));
  }
  get abort(): Session['abort'] {
    return this.#bound('abort', async (reason) => {
      await runs.abort(this.#parts, reason);
      await abortTasks(this.#parts, reason);
    });
  }
  get reset(): Session['reset'] {
    return this.#bound('reset', () => runs.reset(this.#parts));
  }
  get close(): Session['close'] {
    return this.#bound('close', async (reason = 'other') => {
      await closeTasks(this.#parts);
      await runs.close(this.#parts, reason);
    });
  }
  get compact(): Session['compact'] {
    return this.#bound('compact', ({ instructions } = {}) => compactSession(this.#parts, instructions));
  }
  get exportMessages(): Session['exportMessages'] {
    return this.#bound('exportMessages', () => structuredClone(conversationOf(this.#parts.state.view)));
  }
  get importMessages(): Session['importMessages'] {
    return this.#bound('importMessages', async (messages) => {
      const { clock, ids } = this.#parts;
      const fill = { at: clock.now(), id: () => ids.create('msg') };
      await runs.replaceMessages(this.#parts, checkMessages(messages, fill));
    });
  }
  get subscribe(): Session['subscribe'] {
    return this.#bound('subscribe', (observer) => this.#parts.hub.subscribe(observer));
  }
  get openMessage(): Session['openMessage'] {
    return this.#bound('openMessage', () => this.#parts.hub.openMessage());
  }
  get idle(): Session['idle'] {
    return this.#bound('idle', async () => {
      const parts = this.#parts;
      while (parts.active) await parts.active.ended;
    });
  }
  get settled(): Session['settled'] {
    return this.#bound('settled', () => this.#parts.titler?.settled() ?? Promise.resolve());
  }

  #bound<Name extends keyof Methods>(name: Name, made: Session[Name]): Session[Name] {
    const methods: Methods = (this.#methods ??= {});
    return (methods[name] ??= made);
  }

  /** What a session is made of, for the other files of the front door. */
  static partsOf(session: Session): runs.SessionParts {
    if (#parts in session) return session.#parts;
    throw new TreadleError('invalid_definition', 'This session was not made by createSession or openSession.');
  }
}

export const sessionOf = (parts: runs.SessionParts): Session => new SessionHandle(parts);

export const { partsOf } = SessionHandle;
