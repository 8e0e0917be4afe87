// Makes a long session, and measures what opening it takes: folded from its beginning, and, by a process of its own, from
// its newest snapshot. Prints the figures, or fails when opening reads more than the end of the log.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { defineAgent, openSession, type Agent, type Journal } from '@treadle/core';
import { EVENT_VERSION } from '@treadle/core/events';
import { longLog, scriptedModel } from '@treadle/testing';
import { journalAt, openStore, type Place, type StoreName } from './stores.ts';

/** What a log may be read of when it is opened, however long it is. */
const MOST_ROWS = 1000;

interface Opened {
  readonly ms: number;
  readonly rows: number;
}

const [task = '', given = ''] = process.argv.slice(2);
const agent: Agent = defineAgent({ model: scriptedModel(() => ({ text: 'Well.' })) });

async function timed(journal: Journal, sessionId: string): Promise<Opened> {
  let rows = 0;
  const counting: Journal = {
    ...journal,
    async *read(id, from) {
      for await (const event of journal.read(id, from)) {
        rows += 1;
        yield event;
      }
    },
  };
  const begin = performance.now();
  await openSession(agent, sessionId, { journal: counting });
  return { ms: performance.now() - begin, rows };
}

/** In a process that knows nothing of the session yet. */
async function measure(place: Place): Promise<Record<string, number>> {
  const journal = journalAt(place);
  // Connecting, and making or checking tables, is not what is measured.
  await journal.list({ limit: 1 });
  const opened = await timed(journal, 'session');
  const begin = performance.now();
  const { sessions } = await journal.list({ limit: 1 });
  const fork = { sessionId: 'session', seq: sessions[0]?.seq ?? 0 };
  const at = Date.now();
  await journal.create(
    'fork',
    { type: 'session_created', at, eventVersion: EVENT_VERSION, sessionId: 'fork', fork },
    fork,
  );
  const forked = await timed(journal, 'fork');
  const forkMs = performance.now() - begin;
  await journal.close();
  const peakMB = process.resourceUsage().maxRSS / 1000;
  return { openMs: opened.ms, rows: opened.rows, forkMs, forkRows: forked.rows, peakMB };
}

async function make(name: StoreName, count: number): Promise<Record<string, number>> {
  const store = await openStore(name);
  try {
    const journal = journalAt(store.place);
    await longLog(journal, 'session', count);
    const whole = await timed(journal, 'session');
    const session = await openSession(agent, 'session', { journal });
    await session.abort();
    await session.prompt('Go on.').result;
    while (!(await journal.snapshots?.load('session', Number.MAX_SAFE_INTEGER))) await new Promise(setImmediate);
    await journal.close();
    const program = fileURLToPath(import.meta.url);
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'measure', JSON.stringify(store.place)]);
    const figures = JSON.parse(stdout) as Record<string, number>;
    if (!((figures['rows'] ?? MOST_ROWS) < MOST_ROWS && (figures['forkRows'] ?? MOST_ROWS) < MOST_ROWS)) {
      throw new Error(`Opening a session of ${count} events read ${figures['rows']} of them.`);
    }
    return { wholeMs: whole.ms, wholeRows: whole.rows, ...figures };
  } finally {
    await store.close();
  }
}

const figures =
  task === 'measure' ? await measure(JSON.parse(given) as Place) : await make(task as StoreName, Number(given));
process.stdout.write(JSON.stringify(figures), () => process.exit(0));
