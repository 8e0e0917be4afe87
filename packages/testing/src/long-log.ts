import { createSession, defineAgent, defineTool, memoryJournal, type DurableEvent, type Journal } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { countingIds } from './ids.ts';
import { logOf } from './log.ts';
import { scriptedModel } from './scripted-model.ts';

const TURNS = 30;

/** One run of thirty tool calls, as a session writes it, and then the conversation is forgotten. */
async function oneRun(): Promise<DurableEvent[]> {
  const look = defineTool({
    name: 'look',
    description: 'Looks around.',
    readOnly: true,
    execute: () => 'All is well here. '.repeat(10),
  });
  const turns = Array.from({ length: TURNS }, (_, at) => ({
    text: `Going on to place ${at}.`,
    toolCalls: [{ name: 'look', arguments: { at } }],
  }));
  const journal = memoryJournal();
  const agent = defineAgent({
    model: scriptedModel([...turns, 'Done.']),
    tools: [look],
    limits: { maxTurns: 2 * TURNS },
  });
  const session = await createSession(agent, { journal, id: 'session', ids: countingIds() });
  await session.prompt('Look around.').result;
  await session.reset();
  const [, ...events] = await logOf(journal, 'session');
  return events;
}

/** The nth repetition of a run, with numbers and ids of its own. */
function repeated(event: DurableEvent, nth: number, length: number): DurableEventBody {
  const { seq: _, ...body } = event;
  if (nth === 0) return body;
  const next: Record<string, unknown> = { ...body };
  if ('inputSeq' in body && body.inputSeq !== undefined) next['inputSeq'] = body.inputSeq + nth * length;
  if ('runId' in body && body.runId !== undefined) next['runId'] = body.runId.replace(/\.1$/, `.${nth + 1}`);
  if (body.type === 'run_started') next['ordinal'] = nth + 1;
  if (body.type === 'drive_started') next['epoch'] = nth + 1;
  if (body.type === 'input_received') next['key'] = `${body.key}.${nth}`;
  return next as unknown as DurableEventBody;
}

/**
 * Makes a session with so many events, as many runs would have written them; the last of them may be open. What a model
 * sees stays as small as one run, however long the log is. For tests and measurements of journals.
 *
 * @example
 * ```ts
 * import { memoryJournal } from '@treadle/core';
 * import { logOf, longLog } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * await longLog(journal, 's1', 1000);
 * console.log((await logOf(journal, 's1')).length); // 1000
 * ```
 */
export async function longLog(journal: Journal, sessionId: string, count: number): Promise<void> {
  const run = await oneRun();
  await journal.create(sessionId, { type: 'session_created', at: Date.now(), eventVersion: 1, sessionId });
  const claim = await journal.claim(sessionId, { id: 'long', label: 'a log in the making' });
  for (let seq = 1; seq < count;) {
    const batch: DurableEventBody[] = [];
    while (batch.length < 1000 && seq + batch.length < count) {
      const at = seq + batch.length - 1;
      const event = run[at % run.length];
      if (event) batch.push(repeated(event, Math.floor(at / run.length), run.length));
    }
    const outcome = await journal.append(sessionId, claim.epoch, seq, batch);
    if (!outcome.ok) throw new Error(`Somebody else has written to ${sessionId}.`);
    seq += batch.length;
  }
  await claim.release();
}
