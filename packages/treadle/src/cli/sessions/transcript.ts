import type { DurableEvent } from '@treadle/core';
import { transcript, transcriptMarkdown, transcriptText, type Transcript } from '@treadle/core/projections';

import { plainText } from '../asking/plain-text.ts';
import { UsageError } from '../usage-error.ts';

type Format = 'text' | 'markdown' | 'json';

const FORMATS: Readonly<Record<Format, (told: Transcript) => string>> = {
  // What a model or a tool said may hold escape sequences, and this may go to a terminal now or later.
  text: (told) => plainText(transcriptText(told)),
  markdown: (told) => plainText(transcriptMarkdown(told)),
  json: (told) => `${JSON.stringify(told)}\n`,
};

const isFormat = (word: string): word is Format => Object.hasOwn(FORMATS, word);

/** @throws UsageError for a word that is no format. */
export function transcriptFormat(word: string): Format {
  if (isFormat(word)) return word;
  throw new UsageError(`--format takes text, markdown or json, and not '${word}'.`);
}

/**
 * A session written down for people.
 *
 * @param all also what the runtime told the model, and readable reasoning
 */
export async function formatTranscript(
  log: AsyncIterable<DurableEvent>,
  format: Format,
  all: boolean,
): Promise<string> {
  const events: DurableEvent[] = [];
  for await (const event of log) events.push(event);
  return FORMATS[format](transcript(events, { runtimeMessages: all ? 'mark' : 'omit', thinking: all }));
}
