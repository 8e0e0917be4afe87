import type { DurableEvent } from '@treadle/core';
import { addToolOutputs } from '../../operations/answers.ts';
import { listSessions } from '../../operations/catalogue.ts';
import type { Accepted } from '../../operations/post.ts';
import { startRun } from '../../operations/runs.ts';
import { createSession } from '../../operations/sessions.ts';
import { checkAccess, checkReadable } from '../../security/admit.ts';
import type { RunRef } from '../../streams/scope.ts';
import { streamRun } from '../stream.ts';
import type { RouteCall, RouteRun, RouteSessions } from './route.ts';

/** What a request may do with the server's sessions. */
export function sessionsFor(call: Omit<RouteCall, 'sessions'>): RouteSessions {
  const { parts, principal } = call;
  const run = (sessionId: string, done: Accepted, ref: RunRef): RouteRun => ({
    ...done,
    stream: (format) => streamRun(call, sessionId, done.inputSeq, ref, format),
  });
  return {
    async create(session = {}) {
      checkAccess(principal, 'write', undefined);
      return createSession(call, session);
    },
    list: (page = {}) => listSessions(call, page),
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
      checkAccess(principal, 'write', sessionId);
      const done = await startRun(call, sessionId, request);
      return run(sessionId, done, { inputSeq: done.inputSeq });
    },
    async addToolOutputs(sessionId, results) {
      checkAccess(principal, 'write', sessionId);
      const done = await addToolOutputs(call, sessionId, results);
      return run(sessionId, done, { answeredBy: done.inputSeq });
    },
  };
}
