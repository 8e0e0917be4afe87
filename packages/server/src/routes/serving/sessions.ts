import type { DurableEvent } from '@treadle/core';
import type { ApprovalDecision } from '../../inputs/client-turn.ts';
import { addToolOutputs, answerApproval } from '../../operations/answers.ts';
import { listSessions } from '../../operations/catalogue.ts';
import type { Accepted } from '../../operations/post.ts';
import { startRun } from '../../operations/runs.ts';
import { createSession, readSession } from '../../operations/sessions.ts';
import { RequestError } from '../../problem.ts';
import { checkAccess, checkReadable } from '../../security/admit.ts';
import type { RunRef } from '../../streams/scope.ts';
import { streamRun } from '../stream.ts';
import type { RouteCall, RouteRun, RouteSessions } from './route.ts';

const answerOf = ({ approvalId: _, ...answer }: ApprovalDecision): Omit<ApprovalDecision, 'approvalId'> => answer;

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
    async read(sessionId) {
      await checkReadable(parts, principal, sessionId);
      return readSession(parts, sessionId);
    },
    async answerApprovals(sessionId, answers) {
      checkAccess(principal, 'write', sessionId);
      const [first, ...others] = answers;
      if (!first) throw new RequestError('bad_request', 'Give at least one answer.');
      let done = await answerApproval(call, sessionId, first.approvalId, answerOf(first));
      for (const each of others) done = await answerApproval(call, sessionId, each.approvalId, answerOf(each));
      // The run may pause between two answers; it is streamed from the last one.
      return run(sessionId, done, { answeredBy: done.inputSeq });
    },
    async addToolOutputs(sessionId, results) {
      checkAccess(principal, 'write', sessionId);
      const done = await addToolOutputs(call, sessionId, results);
      return run(sessionId, done, { answeredBy: done.inputSeq });
    },
  };
}
