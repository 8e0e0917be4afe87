import type { JsonObject } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { MAX_ENVELOPE_DEPTH } from '@treadle/core/json';
import { logOf } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { useStores } from './test-support/use-stores.ts';

/** An event of so many levels, its own included. */
function event(depth: number): DurableEventBody {
  let decision: JsonObject = {};
  for (let level = 2; level < depth; level += 1) decision = { a: decision };
  return { type: 'decision_made', at: 5, kind: 'hook', key: 'k', decision };
}

describe.each(['files', 'SQLite', 'Postgres'] as const)('an event that is nested deep, in %s', (kind) => {
  const newStore = useStores(kind);

  it('is stored up to the limit on nesting; a deeper one is refused, and the log goes on', async () => {
    const journal = await newStore().open();
    await journal.create('s', { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' });
    const { epoch } = await journal.claim('s', { id: 'o', label: 'O' });
    await journal.append('s', epoch, 1, [event(MAX_ENVELOPE_DEPTH)]);
    for (const depth of [MAX_ENVELOPE_DEPTH + 1, 100_000]) {
      await expect(journal.append('s', epoch, 2, [event(depth)])).rejects.toMatchObject({ code: 'json_too_deep' });
      const metadata = { deep: event(depth) } as unknown as JsonObject;
      const first = { type: 'session_created', at: 1, eventVersion: 1, sessionId: 't', metadata } as const;
      await expect(journal.create('t', first)).rejects.toMatchObject({ code: 'json_too_deep' });
      const posted = journal.post('s', { type: 'prompt', messages: [], metadata }, 'k', 1);
      await expect(posted).rejects.toMatchObject({ code: 'json_too_deep' });
    }
    await journal.append('s', epoch, 2, [{ type: 'task_updated', at: 2, taskId: 't', status: 'running' }]);
    expect((await logOf(journal, 's')).map(({ type }) => type)).toEqual([
      'session_created',
      'decision_made',
      'task_updated',
    ]);
    expect((await journal.list()).sessions).toHaveLength(1);
  });
});
