import { createClient, type ClientOptions, type Approval } from '@treadle/client';
import type { DurableEvent, TreadleEvent } from '@treadle/core';

import type { AttachedSession, TypedInput } from './session.ts';

/** A session of a server, with the live text. @throws ClientError when the server refuses what is posted. */
export function serverSession(
  options: ClientOptions,
  id: string,
  failed: (error: unknown) => void,
): { readonly session: AttachedSession; history(): AsyncIterable<DurableEvent> } {
  const session = createClient(options).session(id);
  const left = new AbortController();
  const { signal } = left;

  async function* events(): AsyncGenerator<TreadleEvent> {
    let last = 0;
    for await (const { event } of session.stream({ signal })) {
      if (event.type !== 'snapshot') {
        if ('seq' in event) last = event.seq;
        yield event;
        continue;
      }
      // The server was too far ahead to send each event: the log has them.
      for (let after: number | undefined = last; after !== undefined && last < event.seq;) {
        const page: Awaited<ReturnType<typeof session.events>> = await session.events({ after });
        for (const missed of page.events) {
          if (missed.seq > event.seq) break;
          last = missed.seq;
          yield missed;
        }
        after = page.cursor;
      }
    }
  }

  async function post(input: TypedInput): Promise<void> {
    switch (input.type) {
      case 'prompt':
        // Its events are in the stream: only that it can't begin is said here.
        session
          .run(
            input.messages.flatMap(({ content }) => content),
            { signal },
          )
          .catch((error: unknown) => {
            if (!signal.aborted) failed(error);
          });
        return;
      case 'steering':
        return session.steer(input.message.content);
      case 'follow_up':
        return session.followUp(input.message.content);
      case 'cancel':
        return session.cancel(input.reason);
      case 'clear_queue':
        throw new Error('What was queued at a server stays queued.');
      case 'approval_answer': {
        const { approvalId, decision, message, updatedInput, updatedPermissions, interrupt } = input;
        const answer: Omit<Approval, 'decision'> = {
          ...(message !== undefined && { message }),
          ...(updatedInput && { updatedInput }),
          ...(updatedPermissions && updatedPermissions.length > 0 && { remember: true }),
          ...(interrupt === true && { interrupt }),
        };
        return decision === 'approve' ? session.approve(approvalId, answer) : session.reject(approvalId, answer);
      }
    }
  }

  async function* history(): AsyncGenerator<DurableEvent> {
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: Awaited<ReturnType<typeof session.events>> = await session.events({ after });
      yield* page.events;
      after = page.cursor;
    }
  }

  return { session: { id, events: events(), post, close: () => left.abort() }, history };
}
