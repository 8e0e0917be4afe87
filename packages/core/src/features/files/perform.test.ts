import fc from 'fast-check';
import { journalOf, logOf, scriptedModel, testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { FilesGeneratedEvent } from '../../entries/events.ts';
import type { ProviderToolResultBlock } from '../../entries/messages.ts';
import type { ModelFiles } from '../../entries/model.ts';
import { readBlob } from '../../entries/ports.ts';
import { generatedFiles } from '../../entries/projections.ts';
import {
  createSession,
  defineAgent,
  memoryBlobs,
  memoryJournal,
  openSession,
  type Blobs,
  type DurableEvent,
  type Journal,
  type JsonObject,
  type JsonValue,
  type Model,
} from '../../index.ts';
import { fileIdsIn } from '../../messages/file-ids.ts';

const resultWith = (...ids: string[]): ProviderToolResultBlock => ({
  type: 'provider_tool_result',
  callId: 'srv1',
  name: 'code_execution',
  isError: false,
  raw: {
    type: 'code_execution_tool_result',
    content: {
      type: 'code_execution_result',
      content: ids.map((file_id) => ({ type: 'code_execution_output', file_id })),
    },
  },
});
const turn = (...ids: string[]) => ({ content: [resultWith(...ids), { type: 'text' as const, text: 'Made.' }] });
const BYTES = new TextEncoder().encode('a,b\n1,2\n');

/** A provider's files: what is asked for is counted. */
function provider(read?: ModelFiles['read']) {
  const asked: string[] = [];
  const files: ModelFiles = {
    async read(fileId, options) {
      asked.push(fileId);
      if (read) return read(fileId, options);
      return {
        name: `${fileId}.csv`,
        mediaType: 'text/csv',
        size: BYTES.length,
        body: (async function* () {
          yield BYTES;
        })(),
      };
    },
  };
  return { files, asked };
}

const eventsOf = (journal: Journal): Promise<DurableEvent[]> => logOf(journal, 's');

const generatedOf = (events: readonly DurableEvent[]): (FilesGeneratedEvent & { seq: number })[] =>
  events.filter((event) => event.type === 'files_generated');

async function world(
  script: Parameters<typeof scriptedModel>[0],
  files?: ModelFiles,
  blobs: Blobs | null = memoryBlobs(),
) {
  const journal = memoryJournal();
  const clock = testClock();
  const model: Model = { ...scriptedModel(script), ...(files ? { files } : {}) };
  const agent = defineAgent({ model });
  const session = await createSession(agent, { id: 's', journal, clock, ...(blobs ? { blobs } : {}) });
  return { session, journal, agent, clock, blobs: blobs ?? memoryBlobs() };
}

describe('files that the tools of a provider made', () => {
  it('are fetched before the run ends, kept as blobs, and part of its result', async () => {
    const { files, asked } = provider();
    const { session, journal, blobs } = await world([turn('file_a', 'file_b', 'file_a')], files);
    const result = await session.prompt('Make two tables.').result;
    expect(asked).toEqual(['file_a', 'file_b']);
    expect(result.status).toBe('completed');
    expect(result.files.map(({ name, mediaType, fileId }) => [name, mediaType, fileId])).toEqual([
      ['file_a.csv', 'text/csv', 'file_a'],
      ['file_b.csv', 'text/csv', 'file_b'],
    ]);
    expect(await readBlob(blobs, result.files[0]?.blob?.id ?? '')).toEqual(BYTES);
    const events = await eventsOf(journal);
    const [event] = generatedOf(events);
    expect(event).toMatchObject({
      backend: 'memory',
      files: [
        { fileId: 'file_a', firstTurn: 0, lastTurn: 0, isUpdate: false, blob: { size: BYTES.length } },
        { fileId: 'file_b', firstTurn: 0, lastTurn: 0, isUpdate: false },
      ],
    });
    expect(events.findIndex(({ type }) => type === 'run_ended')).toBeGreaterThan(event?.seq ?? Infinity);
  });

  it('that are known already are not fetched again, and the registry has where they were first and last seen', async () => {
    const { files, asked } = provider();
    const { session, journal, agent, blobs } = await world([turn('file_a'), turn('file_a', 'file_b')], files);
    const first = await session.prompt('Make one.').result;
    // Another process knows it too.
    const reopened = await openSession(agent, 's', { journal, blobs });
    const second = await reopened.prompt('And another.').result;
    expect(asked).toEqual(['file_a', 'file_b']);
    const events = await eventsOf(journal);
    expect(generatedOf(events)[1]?.files.map(({ fileId, isUpdate }) => [fileId, isUpdate])).toEqual([
      ['file_a', true],
      ['file_b', false],
    ]);
    expect(generatedFiles(events)).toMatchObject([
      {
        fileId: 'file_a',
        name: 'file_a.csv',
        backend: 'memory',
        firstSeen: { runId: first.runId, turnIndex: 0 },
        lastSeen: { runId: second.runId, turnIndex: 0 },
      },
      { fileId: 'file_b', firstSeen: { runId: second.runId } },
    ]);
  });

  it('that can’t be had are told with the reason; the run ends as it would have, and they are asked for the next time', async () => {
    let fails = true;
    const good = provider();
    const { files } = provider((id, options) =>
      fails ? Promise.reject(new Error('Not found.')) : good.files.read(id, options),
    );
    const { session, journal } = await world([turn('file_a'), turn('file_a')], files);
    const result = await session.prompt('Make one.').result;
    expect(result).toMatchObject({ status: 'completed', files: [{ fileId: 'file_a' }] });
    expect(result.files[0]?.blob).toBeUndefined();
    expect(generatedFiles(await eventsOf(journal))).toMatchObject([{ error: 'Not found.', backend: null }]);
    fails = false;
    await session.prompt('Again.').result;
    const [file] = generatedFiles(await eventsOf(journal));
    expect(file).toMatchObject({ name: 'file_a.csv', backend: 'memory', blob: { size: BYTES.length } });
    expect(file?.error).toBeUndefined();
  });

  it('that turn out larger than a blob may be are not kept', async () => {
    const { files } = provider();
    const model: Model = { ...scriptedModel([turn('file_a')]), files };
    const store = memoryBlobs();
    const session = await createSession(defineAgent({ model }), { id: 's', blobs: { store, maxBytes: 7 } });
    const { status, files: made } = await session.prompt('Make one.').result;
    expect([status, made.length, made[0]?.blob]).toEqual(['completed', 1, undefined]);
    expect((await store.sweep({ olderThanMs: -1, inUse: new Set() })).removed).toBe(0);
  });

  it('that break off are not kept', async () => {
    const { files } = provider(async (name) => ({
      name,
      mediaType: 'text/csv',
      size: 5,
      body: (async function* () {
        yield BYTES;
        throw new Error('The connection broke.');
      })(),
    }));
    const { session, journal } = await world([turn('file_a')], files);
    expect((await session.prompt('Make one.').result).status).toBe('completed');
    const [event] = generatedOf(await eventsOf(journal));
    expect(event?.files).toMatchObject([{ name: 'file_a', error: 'The connection broke.' }]);
    expect(event?.files[0]?.blob).toBeUndefined();
  });

  it('don’t hold up a run that is cancelled, even when the provider doesn’t listen', async () => {
    let asked = (): void => {};
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const { files } = provider(() => {
      asked();
      return new Promise(() => {});
    });
    const { session, journal } = await world([turn('file_a')], files);
    const run = session.prompt('Make one.');
    await isAsked;
    await run.abort('Enough.');
    expect((await run.result).status).toBe('aborted');
    expect(generatedOf(await eventsOf(journal))[0]?.files).toMatchObject([
      { error: 'The run was stopped before it was fetched.' },
    ]);
  });

  it('are given up when they take too long', async () => {
    let asked = (): void => {};
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const { files } = provider(() => {
      asked();
      return new Promise(() => {});
    });
    const { session, journal, clock } = await world([turn('file_a')], files);
    const run = session.prompt('Make one.');
    await isAsked;
    await clock.advance(5 * 60_000);
    expect((await run.result).status).toBe('completed');
    expect(generatedOf(await eventsOf(journal))[0]?.files[0]?.error).toContain('longer than 5 minutes');
  });

  it('are told of once when the process dies after the event and before the end of the run', async () => {
    const { files, asked } = provider();
    const { session, journal, agent, blobs } = await world([turn('file_a')], files);
    await session.prompt('Make one.').result;
    const events = await eventsOf(journal);
    const [told] = generatedOf(events);
    const cut = await journalOf(events.slice(0, told?.seq));
    const again = await openSession(agent, 's', { journal: cut, blobs });
    const result = await again.resume().result;
    expect(result).toMatchObject({ status: 'completed', files: [{ fileId: 'file_a', name: 'file_a.csv' }] });
    expect(asked).toEqual(['file_a']);
    expect(generatedOf(await eventsOf(cut))).toHaveLength(1);
  });

  it('are fetched by the next process when the first died before the event', async () => {
    const { files, asked } = provider();
    const { session, journal, agent, blobs } = await world([turn('file_a')], files);
    await session.prompt('Make one.').result;
    const events = await eventsOf(journal);
    const cut = await journalOf(events.slice(0, (generatedOf(events)[0]?.seq ?? 1) - 1));
    const again = await openSession(agent, 's', { journal: cut, blobs });
    expect((await again.resume().result).files).toMatchObject([{ fileId: 'file_a', blob: { size: BYTES.length } }]);
    expect(asked).toEqual(['file_a', 'file_a']);
    expect(generatedOf(await eventsOf(cut))).toHaveLength(1);
  });

  it.each([
    ['the session has no blobs', provider(), null, 'file_a'],
    ['the model reads no files', { files: undefined, asked: [] }, memoryBlobs(), 'file_a'],
    ['no result names one', provider(), memoryBlobs(), ''],
  ] as const)('are left alone when %s', async (_, { files, asked }, blobs, id) => {
    const { session, journal } = await world([turn(id)], files, blobs);
    expect(await session.prompt('Make one.').result).toMatchObject({ status: 'completed', files: [] });
    expect([...asked]).toEqual([]);
    expect(generatedOf(await eventsOf(journal))).toEqual([]);
  });
});

describe('the ids in results of provider tools', () => {
  it('are found wherever they stand, each once, in any JSON, without end or failure', () => {
    const json = fc.jsonValue({ maxDepth: 6 }) as fc.Arbitrary<JsonValue>;
    fc.assert(
      fc.property(
        json,
        json,
        fc.uniqueArray(fc.stringMatching(/^file_[a-z0-9]{1,8}$/), { maxLength: 5 }),
        (a, b, ids) => {
          const raw: JsonObject = { before: a, results: [ids.map((file_id) => ({ nested: { file_id } })), b] };
          const found = fileIdsIn([{ ...resultWith(), raw }, resultWith(...ids)]);
          expect(found.filter((id) => ids.includes(id))).toEqual(ids);
          expect(new Set(found).size).toBe(found.length);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('are not looked for in what a model or a person says', () => {
    expect(
      fileIdsIn([{ type: 'provider_tool_call', callId: 'c', name: 'x', arguments: {}, raw: { file_id: 'f' } }]),
    ).toEqual([]);
  });

  it('are bounded in length and in the work they cost', () => {
    const deep = JSON.parse(`${'['.repeat(5000)}{"file_id":"file_deep"}${']'.repeat(5000)}`) as JsonValue;
    const wide = Array.from({ length: 50_000 }, (_, index) => ({ file_id: `file_${index}` }));
    expect(fileIdsIn([{ ...resultWith(), raw: { deep } }])).toEqual(['file_deep']);
    expect(fileIdsIn([{ ...resultWith(), raw: { wide } }]).length).toBeLessThan(10_000);
    expect(fileIdsIn([resultWith('x'.repeat(257), '')])).toEqual([]);
  });
});
