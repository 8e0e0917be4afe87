import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { TreadleError, type Clock } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';
import type { SharedState } from '@treadle/core/ports';
import type { Principal } from './tokens.ts';

/** How tickets for event streams are made. */
export interface TicketOptions {
  /** At least 32 characters, the same for all processes. Default: a new one, so a restart ends what tickets have opened. */
  readonly key?: string;
  /** Milliseconds until a ticket must have been used. Default 30 s. */
  readonly lifetimeMs?: number;
}

/** Milliseconds in which a stream that breaks off may be opened again by the id of its last event. */
const RESUME_MS = 24 * 60 * 60 * 1000;
const SHORTEST_KEY = 32;
/** Stands between the place in a stream and what opens the stream again. */
const MARK = '!';

interface Sealed {
  readonly use: 'open' | 'resume';
  readonly session: string;
  readonly name: string;
  readonly until: number;
  readonly nonce: string;
}

/**
 * Tickets open one stream of one session, for an `EventSource`, which sends no headers. A ticket is in a URL, so it works
 * once. The browser's own reconnects are let in by the id of the last event, which is in no URL.
 *
 * @throws TreadleError `invalid_definition`
 */
export function createTickets(clock: Clock, state: SharedState, { key, lifetimeMs = 30_000 }: TicketOptions = {}) {
  if (key !== undefined && key.length < SHORTEST_KEY)
    throw new TreadleError('invalid_definition', `tickets.key must have at least ${SHORTEST_KEY} characters.`);
  // Workers have no random bytes before their first request.
  let secret: string | Buffer | undefined = key;

  function sign(text: string): string {
    secret ??= randomBytes(32);
    return createHmac('sha256', secret).update(text).digest('base64url');
  }

  function seal(use: Sealed['use'], session: string, name: string, forMs: number): string {
    const sealed: Sealed = {
      use,
      session,
      name,
      until: clock.now() + forMs,
      nonce: randomBytes(12).toString('base64url'),
    };
    const text = Buffer.from(JSON.stringify(sealed)).toString('base64url');
    return `${text}.${sign(text)}`;
  }

  function unseal(text: string, use: Sealed['use'], session: string): Sealed | null {
    const [body = '', signature = ''] = text.split('.', 2);
    const [given, wanted] = [Buffer.from(signature), Buffer.from(sign(body))];
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
    // What was signed here has this shape.
    const sealed = parseJson(Buffer.from(body, 'base64url').toString()) as Sealed | null;
    if (!isJsonObject(sealed) || sealed.use !== use || sealed.session !== session) return null;
    return sealed.until > clock.now() ? sealed : null;
  }

  /** A ticket that was used is known until it would have ended by itself. */
  async function useOnce({ nonce, until }: Sealed): Promise<boolean> {
    let isFirst = false;
    await state.update<true>(`ticket:${nonce}`, (before) => {
      isFirst = before === null;
      return isFirst ? { value: true, forMs: until - clock.now() } : null;
    });
    return isFirst;
  }

  return {
    issue: ({ name }: Principal, session: string) => ({
      ticket: seal('open', session, name, lifetimeMs),
      expiresAt: clock.now() + lifetimeMs,
    }),
    /** Whom a request with a ticket is made for: it may read that session and nothing else. Null for nobody. */
    async admit(ticket: string, session: string, lastEventId: string | null): Promise<Principal | null> {
      const resumed = lastEventId?.includes(MARK)
        ? unseal(lastEventId.split(MARK, 2)[1] ?? '', 'resume', session)
        : null;
      const opened = resumed ? null : unseal(ticket, 'open', session);
      const found = resumed ?? (opened && (await useOnce(opened)) ? opened : null);
      return found && { name: found.name, sessions: [session], readOnly: true };
    },
    /** What the ids of a stream end with that was opened by a ticket. */
    idSuffix: ({ name }: Principal, session: string): string => `${MARK}${seal('resume', session, name, RESUME_MS)}`,
  };
}

/** The place that the id of an event names, without what opens its stream again. */
export const placeIn = (id: string): string => id.split(MARK, 1)[0] ?? '';
