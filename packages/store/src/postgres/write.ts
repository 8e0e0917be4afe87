import type { DurableEventBody, SessionInput } from '@treadle/core/events';
import type { AppendOutcome, PostOutcome, SessionFacts } from '@treadle/core/journal';
import {
  agentIdOf,
  changesFacts,
  eventText,
  factsAfter,
  firstPromptOf,
  isDrivenElsewhere,
  journalErrors,
} from '@treadle/core/journal';
import { parseJson } from '@treadle/core/json';
import { requireEvent } from '../checks.ts';
import { codeOf, unless } from '../errors.ts';
import { UNIQUE_VIOLATION, type Query, type Sql } from './connection/connect.ts';
import { endsSomething, idOf, noticeOf } from './notices.ts';
import type { Place } from './place.ts';
import { lastEvent, sessionOf, type SessionRow } from './tables.ts';

/** What `list` shows of a prompt; a text of Postgres can't have NUL in it. */
const shownPrompt = (input: SessionInput): string | null => firstPromptOf(input)?.replaceAll('\0', '') ?? null;

export async function createSession(
  sql: Sql,
  schema: string,
  name: string,
  first: DurableEventBody,
  fork: { readonly sessionId: string; readonly seq: number } | undefined,
): Promise<void> {
  const agentId = agentIdOf(first) ?? null;
  const create = async (query: Query): Promise<void> => {
    // Shared, so that the parent can't be removed while it gets a child.
    const parent = fork ? await sessionOf(query, schema, fork.sessionId, 'share') : null;
    if (fork && parent) requireEvent(fork.sessionId, fork.seq, Number(parent.seq));
    const base = fork?.seq ?? 0;
    const { text, seq } = inheritedPrompt(parent, base);
    const rows = await query`
      with session as (
        insert into ${query(schema)}.sessions
          (name, parent, base, created_at, agent_id, first_prompt, first_prompt_seq, facts)
        values (${name}, ${parent?.id ?? null}, ${base}, ${first.at}, ${agentId}, ${text}, ${seq},
          ${JSON.stringify(factsAfter({}, first))}::text::jsonb)
        on conflict do nothing returning id
      ), head as (
        insert into ${query(schema)}.heads (session, settled, updated_at)
        select session.id, ${base + 1}, ${first.at} from session
      ), event as (
        insert into ${query(schema)}.events (session, seq, at, body)
        select session.id, ${base + 1}, ${first.at}, ${eventText(first)} from session
      ), wake as (
        insert into ${query(schema)}.wakes (session) select session.id from session where ${!isDrivenElsewhere(first)}
      )
      select from session`;
    if (rows.length === 0) throw journalErrors.exists(name);
  };
  await (fork ? sql.begin(create) : create(sql));
}

function inheritedPrompt(parent: SessionRow | null, base: number): { text: string | null; seq: string | null } {
  const inherits = parent !== null && parent.firstPromptSeq !== null && Number(parent.firstPromptSeq) <= base;
  return inherits ? { text: parent.firstPrompt, seq: parent.firstPromptSeq } : { text: null, seq: null };
}

/** The events as one text, which needs no quoting: there is no line break in JSON as it is written here. */
const linesOf = (bodies: readonly DurableEventBody[]): string => bodies.map(eventText).join('\n');

/** The fence and the write are one statement: whoever holds this epoch, at this end of the log. */
async function writeAll(
  sql: Query,
  place: Place,
  { name, epoch, expectedSeq, session, isKnownEnd }: Append & { readonly session: string },
  bodies: readonly DurableEventBody[],
): Promise<boolean> {
  const tells = endsSomething(bodies);
  const values: (string | number)[] = [session, expectedSeq, bodies.at(-1)?.at ?? 0, linesOf(bodies)];
  if (!isKnownEnd) values.push(epoch);
  if (tells) values.push(noticeOf(name, expectedSeq + bodies.length));
  const statement = place.appending({ isOne: bodies.length === 1, tells, isKnownEnd });
  const { count } = await sql.unsafe(statement, values, { prepare: true });
  return count > 0;
}

export interface Append {
  readonly name: string;
  readonly epoch: number;
  readonly expectedSeq: number;
  /** The row id of the session, when it is known. */
  readonly session: string | undefined;
  /**
   * Whether this claim has seen the log end at the expected number, with no fence of its own behind it: then nothing needs to
   * be checked but that the next place is free.
   */
  readonly isKnownEnd: boolean;
}

export async function appendEvents(
  sql: Sql,
  place: Place,
  append: Append,
  bodies: readonly DurableEventBody[],
  isAgain = false,
): Promise<AppendOutcome> {
  const events = bodies.map((body, index) => ({ ...body, seq: append.expectedSeq + index + 1 }));
  const session = append.session ?? (await sessionOf(sql, place.schema, append.name)).id;
  if (bodies.length > 0 && (await written(sql, place, { ...append, session }, bodies))) return { ok: true, events };
  // The answer to an attempt before may have been lost with its connection.
  if (isAgain && (await isThere(sql, place.schema, append, bodies))) return { ok: true, events };
  const outcome = await standing(sql, place.schema, append);
  if (outcome !== null) return outcome;
  if (bodies.length === 0) return { ok: true, events: [] };
  throw journalErrors.fenced(append.name, append.epoch, 'the session was replaced meanwhile');
}

/**
 * False when it may not be written, or its place is taken. Inputs among what is appended have keys to remember, which takes a
 * transaction; a drive never appends any.
 */
async function written(
  sql: Sql,
  place: Place,
  append: Append & { readonly session: string },
  bodies: readonly DurableEventBody[],
): Promise<boolean> {
  const hasInput = bodies.some(({ type }) => type === 'input_received');
  const writing = hasInput
    ? sql.begin((transaction) => writeWithInputs(transaction, place, append, bodies))
    : writeAll(sql, place, append, bodies);
  return (await unless(writing, UNIQUE_VIOLATION)) ?? false;
}

async function writeWithInputs(
  sql: Query,
  place: Place,
  append: Append & { readonly session: string },
  bodies: readonly DurableEventBody[],
): Promise<boolean> {
  if (!(await writeAll(sql, place, append, bodies))) return false;
  const { session } = append;
  for (const [index, body] of bodies.entries()) {
    if (body.type !== 'input_received') continue;
    const seq = append.expectedSeq + index + 1;
    const text = shownPrompt(body.input);
    await sql`
      insert into ${sql(place.schema)}.inputs (session, key, seq) values (${session}, ${body.key}, ${seq})
      on conflict do nothing`;
    await sql`
      update ${sql(place.schema)}.sessions set first_prompt = ${text}, first_prompt_seq = ${seq}
      where id = ${session} and first_prompt is null and ${text}::text is not null`;
    await noteFacts(sql, place.schema, session, body);
  }
  return true;
}

/** Whether the log has exactly these events at this place, and nobody has taken the session over. */
async function isThere(
  sql: Query,
  schema: string,
  { name, epoch, expectedSeq }: Append,
  bodies: readonly DurableEventBody[],
): Promise<boolean> {
  const rows = await sql<{ body: string }[]>`
    select event.body from ${sql(schema)}.events as event
    join ${sql(schema)}.sessions as session on session.id = event.session
    join ${sql(schema)}.heads as head on head.session = session.id
    where session.name = ${name} and not session.removed and head.epoch = ${epoch}
      and event.seq > ${expectedSeq} and event.seq <= ${expectedSeq + bodies.length}
    order by event.seq`;
  return rows.length === bodies.length && rows.every(({ body }, index) => body === JSON.stringify(bodies[index]));
}

/** Why an append was not written; null when nothing stands in its way. */
async function standing(
  sql: Query,
  schema: string,
  { name, epoch, expectedSeq }: Append,
): Promise<{ readonly ok: false; readonly seq: number } | null> {
  const row = await sessionOf(sql, schema, name);
  const [seq, highest] = [Number(row.seq), Number(row.epoch)];
  if (epoch !== highest) throw journalErrors.fenced(name, epoch, `epoch ${highest} took it over`);
  if (!row.held) throw journalErrors.fenced(name, epoch, 'its claim was released');
  if (expectedSeq === seq) return null;
  const [appended] = await sql`
    select from ${sql(schema)}.events
    where session = ${row.id} and seq > ${expectedSeq} and posted is null and claimed is null limit 1`;
  if (expectedSeq > seq || appended) {
    throw journalErrors.fenced(name, epoch, `it expects event ${expectedSeq + 1}, the log ends at ${seq}`);
  }
  return { ok: false, seq };
}

type Input = Extract<DurableEventBody, { type: 'input_received' }>;

export async function postInput(
  sql: Sql,
  place: Place,
  name: string,
  input: Input,
  isAgain = false,
): Promise<PostOutcome> {
  /** What it was written as before. An attempt of ours may have written it, whose answer was lost. */
  const before = async (): Promise<PostOutcome | null> => {
    const seq = await knownInput(sql, place.schema, name, input.key);
    return seq === null ? null : { seq, duplicate: !(isAgain && (await isOurs(seq))) };
  };
  const isOurs = async (seq: number): Promise<boolean> => {
    const [row] = await sql<{ body: string }[]>`
      select event.body from ${sql(place.schema)}.events as event
      join ${sql(place.schema)}.sessions as session on session.id = event.session
      where session.name = ${name} and not session.removed and event.seq = ${seq}`;
    return row?.body === JSON.stringify(input);
  };
  const known = await before();
  if (known) return known;
  try {
    return { seq: await writeNewInput(sql, place, name, input), duplicate: false };
  } catch (thrown) {
    // The same key, at the same moment: the other one was first.
    const other = codeOf(thrown) === UNIQUE_VIOLATION ? await before() : null;
    if (!other) throw thrown;
    return other;
  }
}

async function knownInput(sql: Query, schema: string, name: string, key: string): Promise<number | null> {
  const [row] = await sql<{ seq: string }[]>`
    select input.seq from ${sql(schema)}.inputs as input
    join ${sql(schema)}.sessions as session on session.id = input.session
    where session.name = ${name} and not session.removed and input.key = ${key}`;
  return row ? Number(row.seq) : null;
}

/** An input that changes what `list` shows takes a transaction: what is shown is read, changed and written. */
function writeNewInput(sql: Sql, place: Place, name: string, input: Input): Promise<number> {
  if (!changesFacts(input)) return writeInput(sql, place, name, input);
  return sql.begin(async (transaction) => {
    // The row is ours from here on, and so is the order of changes.
    const seq = await writeInput(transaction, place, name, input);
    const { id } = await sessionOf(transaction, place.schema, name);
    await noteFacts(transaction, place.schema, id, input);
    return seq;
  });
}

async function noteFacts(sql: Query, schema: string, id: string, event: DurableEventBody): Promise<void> {
  if (!changesFacts(event)) return;
  const [row] = await sql<{ facts: string }[]>`select facts::text from ${sql(schema)}.sessions where id = ${id}`;
  const facts = factsAfter(parseJson(row?.facts ?? '{}') as SessionFacts, event);
  await sql`update ${sql(schema)}.sessions set facts = ${JSON.stringify(facts)}::text::jsonb where id = ${id}`;
}

async function writeInput(sql: Query, { schema, channel }: Place, name: string, event: Input): Promise<number> {
  const { at, key } = event;
  const text = shownPrompt(event.input);
  // A session that is due stays due since then: nothing is written where it is held.
  const wake = isDrivenElsewhere(event)
    ? sql`delete from ${sql(schema)}.wakes as wake using written where wake.session = written.id`
    : // On the newest row, which a release may have written while this waited.
      sql`update ${sql(schema)}.wakes as wake set due_at = least(wake.due_at, ${Math.floor(at)}::bigint) from written
        where wake.session = written.id`;
  for (;;) {
    // Those who post wait for each other at the head. A drive doesn't: when it has just taken the place, nothing is written.
    const [row] = await sql<{ seq: string }[]>`
      with head as (
        select head.session, greatest(head.settled, last.seq) + 1 as next
        from ${sql(schema)}.sessions as session join ${sql(schema)}.heads as head on head.session = session.id
        left join lateral ${lastEvent(sql, schema, sql`session.id`)} as last on true
        where session.name = ${name} and not session.removed
        for no key update of head
      ), written as (
        insert into ${sql(schema)}.events as event (session, seq, at, body, posted)
        select head.session, head.next, ${at}, ${eventText(event)}, true from head
        on conflict (session, seq) do update
          set at = excluded.at, body = excluded.body, posted = true, claimed = null where event.claimed is not null
        returning event.session as id, event.seq
      ), noted as (
        update ${sql(schema)}.heads as head set settled = written.seq, updated_at = ${at}
        from written where head.session = written.id
      ), shown as (
        update ${sql(schema)}.sessions as session set first_prompt = ${text}::text, first_prompt_seq = written.seq
        from written
        where session.id = written.id and session.first_prompt is null and ${text}::text is not null
      ), inputs as (
        insert into ${sql(schema)}.inputs (session, key, seq) select written.id, ${key}, written.seq from written
      ), waked as (${wake})
      select written.seq, pg_notify(${channel}, ${`${idOf(name)}:`}::text || written.seq) from written`;
    if (row) return Number(row.seq);
    // Throws when there is no such session.
    await sessionOf(sql, schema, name);
  }
}
