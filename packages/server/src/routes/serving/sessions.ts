import type { DurableEvent } from '@treadle/core';
import { addToolOutputs } from '../../operations/answers.ts';
import { listSessions } from '../../operations/catalogue.ts';
import { startRun } from '../../operations/inputs.ts';
import type { Accepted } from '../../operations/post.ts';
import { createSession } from '../../operations/sessions.ts';
import { checkAccess, checkReadable } from '../../security/admit.ts';
import { oneRun, type RunRef } from '../../streams/scope.ts';
import { keyOf } from '../ask.ts';
import { openStream } from '../stream.ts';
import type { RouteCall, RouteRun, RouteSessions } from './route.ts';

/** What a request may do with the server's sessions. */
export function sessionsFor(call: Omit<RouteCall, 'sessions'>): RouteSessions {
  const { parts, principal, key } = call;
  const run = (sessionId: string, done: Accepted, ref: RunRef): RouteRun => ({
    ...done,
    stream(format) {
      const from = { seq: done.inputSeq - 1, message: null };
      const scoped = { from, scope: oneRun(ref), ...(format ? { format } : {}) };
      return openStream({ ...call, path: { sessionId } }, scoped);
    },
  });
  const askOf = (sessionId: string) => {
    checkAccess(principal, 'write', sessionId);
    return { sessionId, ...keyOf(call) };
  };
  return {
    async create(session = {}) {
      checkAccess(principal, 'write', undefined);
      return createSession(parts, principal, session, key);
    },
    list: (page = {}) => listSessions(parts, principal, page),
    async *events(sessionId, from = 1) {
      await checkReadable(parts, principal, sessionId);
      yield* parts.journal.read(sessionId, from);
    },
    async openRun(sessionId) {
      await checkReadable(parts, principal, sessionId);
      const { run: open, seq } = await parts.states.of(sessionId);
      const events: DurableEvent[] = [];
      if (!open) return events;
      for await (const event of parts.journal.read(sessionId, open.startedSeq)) {
        if (event.seq > seq) break;
        events.push(event);
      }
      return events;
    },
    async startRun(sessionId, request) {
      const done = await startRun(parts, askOf(sessionId), request);
      return run(sessionId, done, { inputSeq: done.inputSeq });
    },
    async addToolOutputs(sessionId, results) {
      const done = await addToolOutputs(parts, askOf(sessionId), results);
      return run(sessionId, done, { answeredBy: done.inputSeq });
    },
  };
}
