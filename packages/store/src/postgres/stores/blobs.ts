import { createHash } from 'node:crypto';
import { errorText, TreadleError, type Blobs } from '@treadle/core';
import { blobErrors, blobIdOf, isBlobId, type BlobContent } from '@treadle/core/ports';
import { postgresStore, type PostgresStoreOptions } from './store.ts';

/** Options of {@link postgresBlobs}. */
export interface PostgresBlobsOptions extends PostgresStoreOptions {
  /** Bytes of one blob at most; more are refused with `blob_too_large`. Each is one row. Default 1,048,576. */
  readonly maxBytes?: number;
}

/** Blobs with connections to let go of. */
export interface PostgresBlobs extends Blobs {
  /** Closes its connections. Calls after it reject with `journal_failed`. */
  close(): Promise<void>;
}

const tables = (at: string): string => `
  create table if not exists ${at}.blobs (
    id text primary key,
    bytes bytea not null,
    put_at bigint not null
  );
  alter table ${at}.blobs alter column bytes set storage external;
  create index if not exists blobs_put on ${at}.blobs (put_at)`;

const DEFAULT_MAX_BYTES = 1_048_576;

/**
 * Small blobs in a Postgres database, for any number of machines: beside `postgresJournal`, where there is no other store
 * that all of them reach. What is read is checked against its id.
 *
 * It needs the package `postgres`.
 *
 * @example
 * ```ts
 * import { postgresBlobs } from '@treadle/store/postgres';
 *
 * const blobs = postgresBlobs({ connection: 'postgres://localhost/agents' });
 * await blobs.close(); // It connects when it is first used.
 * ```
 */
export function postgresBlobs(options: PostgresBlobsOptions): PostgresBlobs {
  const { maxBytes = DEFAULT_MAX_BYTES } = options;
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 1)
    throw new TreadleError(
      'invalid_definition',
      `maxBytes must be a whole number of at least 1, and it is ${maxBytes}.`,
    );
  const store = postgresStore('postgresBlobs', options, tables, blobError);
  const { schema, clock } = store;
  return {
    backend: 'postgres',
    async put(content, { maxBytes: most = maxBytes } = {}) {
      const bytes = await gather(content, Math.min(most, maxBytes));
      const id = idOf(bytes);
      // Written again also where it is there already: that makes it young, and whole if it was damaged.
      await store.run(
        (sql) => sql`
          insert into ${sql(schema)}.blobs (id, bytes, put_at) values (${id}, ${bytes}, ${clock.now()})
          on conflict (id) do update set bytes = excluded.bytes, put_at = greatest(blobs.put_at, excluded.put_at)`,
      );
      return { id, size: bytes.length };
    },
    async *read(id) {
      const bytes = await store.run(async (sql) => {
        if (!isBlobId(id)) return undefined;
        const [row] = await sql<{ bytes: Buffer }[]>`select bytes from ${sql(schema)}.blobs where id = ${id}`;
        return row?.bytes;
      });
      if (!bytes) throw blobErrors.notFound(id);
      if (idOf(bytes) !== id) throw blobErrors.corrupt(id);
      yield bytes;
    },
    size: (id) =>
      store.run(async (sql) => {
        if (!isBlobId(id)) return null;
        const [row] = await sql<{ size: number }[]>`
          select octet_length(bytes) as size from ${sql(schema)}.blobs where id = ${id}`;
        return row?.size ?? null;
      }),
    sweep: ({ olderThanMs, inUse }) =>
      store.run(async (sql) => {
        const before = clock.now() - olderThanMs;
        const old = await sql<{ id: string }[]>`select id from ${sql(schema)}.blobs where put_at <= ${before}`;
        const unused = old.map(({ id }) => id).filter((id) => !inUse.has(id));
        // One that somebody has put once more meanwhile is young again, and stays.
        const removed = await sql<{ size: number }[]>`
          delete from ${sql(schema)}.blobs where id in (select unnest(string_to_array(${unused.join(' ')}, ' ')))
            and put_at <= ${before}
          returning octet_length(bytes) as size`;
        const [{ kept } = { kept: 0 }] = await sql<{ kept: number }[]>`
          select count(*)::integer as kept from ${sql(schema)}.blobs`;
        return { removed: removed.length, removedBytes: removed.reduce((sum, { size }) => sum + size, 0), kept };
      }),
    close: () => store.close(),
  };
}

const idOf = (bytes: Uint8Array): string => blobIdOf(createHash('sha256').update(bytes).digest('hex'));

async function gather(content: BlobContent, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of content instanceof Uint8Array ? [content] : content) {
    size += piece.length;
    if (size > most) throw blobErrors.tooLarge(most);
    pieces.push(piece.slice()); // Its giver may use it again.
  }
  return Buffer.concat(pieces);
}

function blobError(thrown: unknown): TreadleError {
  if (thrown instanceof TreadleError) return thrown;
  const message = `The blobs in the database could not be read or written: ${errorText(thrown)}.`;
  return new TreadleError('blob_failed', message, { cause: thrown });
}
