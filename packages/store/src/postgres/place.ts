/** Where a journal's tables are, how it is heard of, and the statements that are sent most. */
export interface Place {
  readonly schema: string;
  readonly channel: string;
  /**
   * The statement that writes events. Its values: session, expected number, time, the events as lines; the epoch, unless the
   * end is known; and, when it is to tell them, what listeners are sent. It answers with a row or a count when it has written,
   * and fails when a place it writes to is taken.
   */
  appending(how: Appending): string;
}

export interface Appending {
  readonly isOne: boolean;
  readonly tells: boolean;
  /** Whether the log is known to have ended there, when no other drive had the session. */
  readonly isKnownEnd: boolean;
}

/** Texts that are put together once: at every append they are sent, or looked up among what is prepared. */
export function placeOf(schema: string): Place {
  const channel = `${schema}_journal`;
  const events = `"${schema}".events`;
  const lines = `unnest(string_to_array($4::text, E'\n')) with ordinality as line (body, place)`;

  // Only its place is checked, by the key: whoever had the session since has taken the place.
  const one = `insert into ${events} (session, seq, at, body) values ($1::bigint, $2::bigint + 1, $3::bigint, $4::text)`;
  const several = `
    insert into ${events} (session, seq, at, body)
    select $1::bigint, $2::bigint + line.place, $3::bigint, line.body from ${lines}`;
  const telling = (insert: string): string => `with event as (${insert}) select pg_notify('${channel}', $5::text)`;

  // The first event of a drive stands where its fence was.
  const checked = `
    with head as (
      select head.session from "${schema}".heads as head
      join ${events} as last on last.session = head.session and last.seq = $2::bigint and last.claimed is null
      where head.session = $1::bigint and head.epoch = $5::bigint and head.held
    ), line as (
      select line.place, line.body from ${lines}
    ), first as (
      update ${events} as event set at = $3::bigint, body = line.body, claimed = null from head, line
      where event.session = head.session and event.seq = $2::bigint + 1 and event.claimed = $5::bigint and line.place = 1
      returning event.seq
    ), others as (
      insert into ${events} (session, seq, at, body)
      select head.session, $2::bigint + line.place, $3::bigint, line.body from head, line
      where line.place > (select count(*) from first)
    )`;
  const texts = {
    one: { silent: one, telling: telling(one) },
    several: { silent: several, telling: telling(several) },
    checked: {
      silent: `${checked} select from head`,
      telling: `${checked} select pg_notify('${channel}', $6::text) from head`,
    },
  };
  return {
    schema,
    channel,
    appending: ({ isOne, tells, isKnownEnd }) =>
      texts[isKnownEnd ? (isOne ? 'one' : 'several') : 'checked'][tells ? 'telling' : 'silent'],
  };
}
