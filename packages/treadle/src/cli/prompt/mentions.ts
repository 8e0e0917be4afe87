import type { UserContent } from '@treadle/core';

import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import type { CliIo } from '../io.ts';
import { asData } from './as-data.ts';

/** Where the files of a prompt are looked for, and who is told of those that aren't there. */
export interface MentionOptions {
  /** What paths are relative to. */
  readonly folder: string;
  readonly env: CliIo['env'];
  readonly note: (text: string) => void;
}

/** `@path` at the beginning of a word, or `@"a path with spaces"`. */
const MENTION = /(?<=^|[\s([{'"])@(?:"([^"\n]+)"|([^\s"]+))/g;
/** What may end a sentence behind a path. */
const AFTER = /[.,;:!?)\]}'"]+$/;

/**
 * The files that a prompt mentions, each once, as parts of the message by what they hold: text, an image or a PDF. A
 * mention of what is no file stays what it is, a word.
 *
 * Only for texts that a person typed: a mention lets any file be read that the person can read.
 *
 * @throws TreadleError `invalid_attachment` for a file that can't be sent.
 */
export async function mentionedFiles(text: string, options: MentionOptions): Promise<UserContent[]> {
  const parts = new Map<string, UserContent>();
  for (const [, quoted, bare = ''] of text.matchAll(MENTION)) {
    const found = await firstFile(quoted === undefined ? [bare, bare.replace(AFTER, '')] : [quoted], options);
    if (found !== null) {
      if (!parts.has(found.path)) parts.set(found.path, await attachment(found.path, found.name));
    } else if (quoted !== undefined || /^(?:\.{0,2}|~)\/|[^/]\.\w{1,5}$/.test(bare.replace(AFTER, ''))) {
      options.note(`@${quoted ?? bare.replace(AFTER, '')} is no file here, and stays a word of the prompt.`);
    }
  }
  return [...parts.values()];
}

/** A file as a part of a message; a text between tags that name it. */
export async function attachment(path: string, name: string): Promise<UserContent> {
  const { readAttachment } = await import('@treadle/tools');
  const part = await readAttachment(path, name);
  return part.type === 'text' ? { ...part, text: asData('file', part.text, ` path=${JSON.stringify(name)}`) } : part;
}

interface FoundFile {
  readonly path: string;
  readonly name: string;
}

async function firstFile(names: readonly string[], { folder, env }: MentionOptions): Promise<FoundFile | null> {
  for (const name of names) {
    const { HOME: home } = env;
    const path = home && name.startsWith('~/') ? join(home, name.slice(2)) : resolve(folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats?.isFile() === true) return { path, name };
  }
  return null;
}
