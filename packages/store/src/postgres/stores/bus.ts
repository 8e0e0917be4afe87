import { randomBytes } from 'node:crypto';
import { systemClock } from '@treadle/core';
import type { LiveBus } from '@treadle/core/ports';
import { connect, postgresError } from '../connection/connect.ts';
import { listen } from '../connection/listen.ts';
import { requireSchema, type PostgresStoreOptions } from './store.ts';

/** Options of {@link postgresBus}. */
export type PostgresBusOptions = Omit<PostgresStoreOptions, 'outageMs' | 'maxConnections'>;

/** Characters of a notice: the server takes less than 8,000 bytes, and a character may have three. */
const PIECE = 2500;
/** Notices in one statement. */
const MOST_PIECES = 200;

/**
 * The way between the processes of any number of machines that share a Postgres database, by `LISTEN` and `NOTIFY`. Each has a
 * channel of its own beside the one of all. It needs two connections, none of them through a pooler that shares them.
 *
 * @throws TreadleError `journal_failed` when the database doesn't answer.
 *
 * @example
 * ```ts
 * import { postgresBus } from '@treadle/store/postgres';
 * import type { ServerOptions } from '@treadle/server';
 *
 * const options = async (): Promise<Pick<ServerOptions, 'bus'>> => ({
 *   bus: await postgresBus({ connection: 'postgres://localhost/agents' }),
 * });
 * ```
 */
export async function postgresBus(options: PostgresBusOptions): Promise<LiveBus> {
  const { schema = 'treadle', clock = systemClock } = options;
  requireSchema('postgresBus', schema);
  const id = randomBytes(6).toString('hex');
  const channelOf = (other?: string): string => (other === undefined ? `${schema}_live` : `${schema}_live_${other}`);
  const listeners = new Set<readonly [heard: (text: string, from: string) => void]>();
  const joined = piecesJoined();
  let sent = 0;
  let closed = false;

  function heard(notice: string): void {
    const [, from = '', number = '', place = '', of = '', piece = ''] =
      /^(\S+) (\d+) (\d+) (\d+) (.*)$/s.exec(notice) ?? [];
    if (from === id) return;
    const text = joined(from, Number(number), Number(place), Number(of), piece);
    if (text !== null) for (const [listener] of listeners) listener(text, from);
  }

  // One for statements: on a second one, notices would overtake each other.
  const connected = await connect({ ...options, maxConnections: 2 }, clock).catch(fail);
  const listening = await listen({
    connected,
    clock,
    channel: channelOf(),
    others: [channelOf(id)],
    heard,
    look: async (sql) => void (await sql`select 1`),
  }).catch(async (error: unknown) => {
    await connected.end();
    return fail(error);
  });

  return {
    id,
    async send(text, to) {
      if (closed) return;
      sent += 1;
      const pieces = piecesOf(text);
      const notices = pieces.map((piece, place) => `${id} ${sent} ${place} ${pieces.length} ${piece}`);
      for (let from = 0; from < notices.length; from += MOST_PIECES) {
        const some = notices.slice(from, from + MOST_PIECES);
        const calls = some.map((_, index) => `pg_notify($1, $${index + 2})`).join(', ');
        // It is gone with the server, and so are those who listen; what is lost is asked for again.
        await connected.sql.unsafe(`select ${calls}`, [channelOf(to), ...some]).catch(() => {});
      }
    },
    listen(listener) {
      const one = [listener] as const;
      listeners.add(one);
      return () => void listeners.delete(one);
    },
    async close() {
      if (closed) return;
      closed = true;
      listening.stop();
      await connected.end();
    },
  };
}

function fail(error: unknown): never {
  throw postgresError(error);
}

/** A text in pieces, each a text of its own: no character is cut in two. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length || pieces.length === 0;) {
    const last = text.charCodeAt(from + PIECE - 1);
    const isHalf = last >= 0xd800 && last <= 0xdbff;
    const to = from + PIECE - (isHalf ? 1 : 0);
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}

/** Puts texts together. One whose pieces don't all come is dropped with the next. */
function piecesJoined(): (from: string, number: number, place: number, of: number, piece: string) => string | null {
  const open = new Map<string, { readonly number: number; readonly pieces: string[] }>();
  return (from, number, place, of, piece) => {
    if (place === 0) open.set(from, { number, pieces: [] });
    const known = open.get(from);
    if (known?.number !== number || known.pieces.length !== place) return null;
    known.pieces.push(piece);
    if (known.pieces.length < of) return null;
    open.delete(from);
    return known.pieces.join('');
  };
}
