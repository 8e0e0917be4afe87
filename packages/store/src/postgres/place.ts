/** Where a journal's tables are, how it is heard of, and the statements that are sent most. */
export interface Place {
  readonly schema: string;
  readonly channel: string;
  /**
   * The statement that writes events. Its values: expected number, time, session, epoch, the events as lines, their count;
   * and, when it is to tell them, what listeners are sent.
   */
  appending(isOne: boolean, tells: boolean): string;
}

/** Texts that are put together once: at every append they are sent, or looked up among what is prepared. */
export function placeOf(schema: string): Place {
  const channel = `${schema}_journal`;
  const fence = `
    update "${schema}".heads set seq = $1::bigint + $6::int, last_appended = $1::bigint + $6::int, updated_at = $2::bigint
    where session = $3::bigint and seq = $1::bigint and epoch = $4::bigint and held
    returning session`;
  const one = `
    insert into "${schema}".events (session, seq, body) select head.session, $1::bigint + 1, $5::text from head`;
  const several = `
    insert into "${schema}".events (session, seq, body)
    select head.session, $1::bigint + line.place, line.body
    from head, unnest(string_to_array($5::text, E'\\n')) with ordinality as line (body, place)`;
  const silently = (insert: string): string => `with head as (${fence}) ${insert}`;
  const telling = (insert: string): string =>
    `with head as (${fence}), event as (${insert}) select pg_notify('${channel}', $7::text) from head`;
  const texts = {
    silent: { one: silently(one), several: silently(several) },
    telling: { one: telling(one), several: telling(several) },
  };
  return {
    schema,
    channel,
    appending: (isOne, tells) => texts[tells ? 'telling' : 'silent'][isOne ? 'one' : 'several'],
  };
}
