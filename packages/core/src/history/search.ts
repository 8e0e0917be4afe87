import { allSessions } from '../journal/all-sessions.ts';
import { textsOf } from '../messages/final-text.ts';
import type { DurableEvent } from '../events/events.ts';
import type { Journal, ListOptions, SessionSummary } from '../journal/journal.ts';
import type { Message } from '../messages/message.ts';

/** Options of {@link searchSessions}. */
export interface SearchOptions extends Pick<ListOptions, 'agentId' | 'tag'> {
  /** False looks only at what a list shows: titles, tags and first prompts. Default true. */
  readonly messages?: boolean;
}

/** A session that was found. */
export interface SessionHit {
  readonly session: SessionSummary;
  readonly where: 'title' | 'tag' | 'prompt' | 'message';
  /** The text around the first of the words, on one line. */
  readonly excerpt: string;
  /** The event of the message; only with `where: 'message'`. */
  readonly seq?: number;
}

const PAGE = 50;

/** Sessions with all words of a query, newest first. Reads as it is iterated. */
export async function* searchSessions(
  journal: Journal,
  query: string,
  { messages = true, ...filter }: SearchOptions = {},
): AsyncGenerator<SessionHit> {
  const words = query
    .split(/\s+/u)
    .filter((word) => word !== '')
    .map(folded);
  if (words.length === 0) return;
  for await (const session of allSessions(journal, { ...filter, limit: PAGE })) {
    const hit = inRow(session, words) ?? (messages ? await inLog(journal, session, words) : null);
    if (hit) yield hit;
  }
}

/** What is compared: neither case nor the way an accent is written makes a difference. */
const folded = (text: string): string => text.normalize('NFC').toLowerCase();

function inRow(session: SessionSummary, words: readonly string[]): SessionHit | null {
  const { title = '', tags = [], firstPrompt = '' } = session;
  for (const [where, text] of [
    ['title', title],
    ['tag', tags.join(' ')],
    ['prompt', firstPrompt],
  ] as const) {
    if (hasAll(text, words)) return { session, where, excerpt: excerptOf(text, words) };
  }
  return null;
}

async function inLog(journal: Journal, session: SessionSummary, words: readonly string[]): Promise<SessionHit | null> {
  try {
    for await (const event of journal.read(session.sessionId, 1)) {
      const text = textOf(event);
      if (hasAll(text, words)) return { session, where: 'message', excerpt: excerptOf(text, words), seq: event.seq };
    }
  } catch (error) {
    // Deleted since it was listed, or damaged: the others are searched all the same.
    if (!UNREADABLE.has((error as { readonly code?: unknown }).code)) throw error;
  }
  return null;
}

const UNREADABLE: ReadonlySet<unknown> = new Set(['session_not_found', 'journal_corrupt']);

/** What was said, by people and by the model; not what tools gave. */
const textOf = (event: DurableEvent): string => (event.type === 'message_added' ? messageText(event.message) : '');

const messageText = (message: Message): string =>
  message.role === 'user' || message.role === 'assistant' ? textsOf(message.content).join(' ') : '';

function hasAll(text: string, words: readonly string[]): boolean {
  if (text === '') return false;
  const searched = folded(text);
  return words.every((word) => searched.includes(word));
}

const BEFORE = 40;
const LONGEST = 160;

function excerptOf(text: string, [word = '']: readonly string[]): string {
  const at = Math.max(0, folded(text).indexOf(word));
  const start = Math.max(0, at - BEFORE);
  const line = text
    .slice(start, start + LONGEST)
    .toWellFormed()
    .replace(/\s+/gu, ' ')
    .trim();
  return `${start > 0 ? '…' : ''}${line}${start + LONGEST < text.length ? '…' : ''}`;
}
