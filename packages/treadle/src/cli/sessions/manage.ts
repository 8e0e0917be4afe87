import { readFamily } from '@treadle/core/history';

import { defined } from '../defined.ts';
import { sessionOf } from './folder-sessions.ts';
import { plainLine } from '../asking/plain-text.ts';
import { formatTranscript, transcriptFormat } from './transcript.ts';
import { familyJson, familyLines } from './tree.ts';
import { UsageError } from '../usage-error.ts';
import { idOf, say, type Work } from './work.ts';

// The commands that change or export sessions, and need no agent.

export async function fork(work: Work): Promise<void> {
  const parent = await idOf(work);
  const { options } = work;
  const how = defined({ at: options.count('at'), title: options.text('title'), tags: options.list('tag') });
  const sessionId = await work.sessions.fork(parent, how);
  say(work, { sessionId, parent }, sessionId);
}

export async function rename(work: Work): Promise<void> {
  const sessionId = await idOf(work);
  const title = work.words[1] ?? '';
  await work.sessions.rename(sessionId, title);
  say(work, { sessionId, title }, `${sessionId}\t${plainLine(title)}`);
}

export async function tag(work: Work): Promise<void> {
  const [added, removed] = [work.words.slice(1), work.options.list('remove') ?? []];
  if (added.length + removed.length === 0) throw new UsageError('Name a tag to add, or one to --remove.');
  const sessionId = await idOf(work);
  await work.sessions.tag(sessionId, added, removed);
  const line = [...added.map((name) => `+${name}`), ...removed.map((name) => `-${name}`)].map((name) =>
    plainLine(name),
  );
  say(work, { sessionId, added, removed }, `${sessionId}\t${line.join(' ')}`);
}

export async function remove(work: Work): Promise<void> {
  const deleted: string[] = [];
  // All of them are known before the first one is gone.
  for (const word of work.words) deleted.push(await sessionOf(work.journal, word));
  for (const sessionId of deleted) await work.sessions.remove(sessionId);
  say(work, { deleted }, deleted.join('\n'));
}

export async function tree(work: Work): Promise<void> {
  const family = await readFamily(work.journal, await idOf(work));
  say(work, familyJson(family), familyLines(family));
}

export async function search(work: Work): Promise<void> {
  const { sessions, context, options } = work;
  const most = options.count('limit') ?? 20;
  const filter = defined({ agentId: options.text('agent'), tag: options.text('tag') });
  const hits = [];
  for await (const { session, where, excerpt, seq } of sessions.search(work.words.join(' '), filter)) {
    const hit = { sessionId: session.sessionId, where, excerpt, seq: seq ?? null };
    hits.push(hit);
    if (!options.flag('json')) context.out.print(`${[hit.sessionId, where, plainLine(excerpt)].join('\t')}\n`);
    if (hits.length >= most || context.out.isClosed) break;
  }
  if (options.flag('json')) context.out.print(`${JSON.stringify({ hits })}\n`);
  else if (hits.length === 0) context.note('No session has these words.');
}

export async function exportSession(work: Work): Promise<void> {
  const { journal, options } = work;
  const { out } = work.context;
  const word = options.text('format');
  if (word !== undefined && options.flag('json')) throw new UsageError('Say either --format or --json.');
  const format = word === undefined || word === 'events' ? null : transcriptFormat(word);
  const sessionId = await idOf(work);
  if (format !== null) {
    out.print(await formatTranscript(journal.read(sessionId, 1), format, options.flag('all')));
    return;
  }
  const isOne = options.flag('json');
  let isFirst = true;
  for await (const event of journal.read(sessionId, 1)) {
    const before = isOne ? (isFirst ? `{"sessionId":${JSON.stringify(sessionId)},"events":[` : ',') : '';
    out.print(`${before}${JSON.stringify(event)}${isOne ? '' : '\n'}`);
    isFirst = false;
    const clogged = out.flowing();
    if (clogged) await clogged;
    if (out.isClosed) return;
  }
  if (isOne) out.print(']}\n');
}
