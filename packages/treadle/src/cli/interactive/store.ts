import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isJsonObject, parseJson } from '@treadle/core/json';

import type { Draft } from '../../terminal/ui/input-line.ts';

/** Prompts that are remembered at most. */
const MOST = 1000;

/** What a terminal keeps between its sessions: the prompts that were sent, and drafts that were not. Only the user reads it. */
export interface TerminalStore {
  /** Oldest first; those of the folder last. */
  history(): Promise<string[]>;
  remember(text: string): void;
  loadDraft(sessionId: string): Promise<Draft | null>;
  saveDraft(sessionId: string, draft: Draft): void;
  /** Resolves when all is written. */
  settled(): Promise<void>;
}

/** A line that may have a key in it, also of a command that is misspelt: it is kept nowhere. */
const mayHoldKey = (text: string): boolean => /^\s*\/lo\w*[\s:]/i.test(text);

/** @param home where the sessions are kept @param keeps false writes nothing */
export function openStore(home: string, folder: string, keeps: boolean): TerminalStore {
  const file = join(home, 'history.jsonl');
  const drafts = join(home, 'drafts');
  let last: Promise<unknown> = Promise.resolve();
  /** Drafts that are to be written, by their files. */
  const pending = new Map<string, Draft>();

  /** One write after the other; a draft that was changed meanwhile is written once, as it is then. */
  function write(work: () => Promise<unknown>): void {
    if (keeps) last = last.then(work).catch(() => {});
  }

  async function writeDraft(path: string): Promise<void> {
    const draft = pending.get(path);
    pending.delete(path);
    if (!draft) return;
    if (draft.text === '') {
      await rm(path, { force: true });
      return;
    }
    await mkdir(drafts, { recursive: true, mode: 0o700 });
    await writeFile(`${path}.new`, JSON.stringify(draft), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  const draftPath = (sessionId: string): string => join(drafts, `${encodeURIComponent(sessionId || folder)}.json`);

  return {
    async history() {
      const text = await readFile(file, 'utf8').catch(() => '');
      const lines = text.split('\n').slice(-MOST - 1);
      const entries = lines.flatMap((line) => {
        const entry = readLine(line);
        return isJsonObject(entry) && typeof entry['text'] === 'string'
          ? [{ here: entry['folder'] === folder, text: entry['text'] }]
          : [];
      });
      return [...entries.filter(({ here }) => !here), ...entries.filter(({ here }) => here)].map(({ text }) => text);
    },
    remember(text) {
      if (mayHoldKey(text)) return;
      write(async () => {
        await mkdir(home, { recursive: true, mode: 0o700 });
        await appendFile(file, `${JSON.stringify({ folder, text })}\n`, { mode: 0o600 });
      });
    },
    async loadDraft(sessionId) {
      // What was changed is written by then.
      await last;
      const draft = readLine(await readFile(draftPath(sessionId), 'utf8').catch(() => ''));
      if (!isJsonObject(draft) || typeof draft['text'] !== 'string') return null;
      const { pastes } = draft;
      const kept = pastes !== undefined && isJsonObject(pastes) ? Object.entries(pastes) : [];
      const texts = kept.flatMap(([marker, text]) => (typeof text === 'string' ? [[marker, text] as const] : []));
      return { text: draft['text'], pastes: Object.fromEntries(texts) };
    },
    saveDraft(sessionId, draft) {
      const path = draftPath(sessionId);
      const isFirst = !pending.has(path);
      pending.set(path, mayHoldKey(draft.text) ? { text: '', pastes: {} } : draft);
      if (isFirst) write(() => writeDraft(path));
    },
    async settled() {
      await last;
    },
  };
}

/** A line that was cut off is none. */
function readLine(line: string): ReturnType<typeof parseJson> {
  try {
    return parseJson(line);
  } catch {
    return null;
  }
}
