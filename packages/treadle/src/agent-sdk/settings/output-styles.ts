import { errorText } from '@treadle/core';
import { parse } from 'yaml';

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { isJsonObject } from '@treadle/core/json';
import { readSettingsFile } from '../../settings/settings.ts';

/** The style that is always there, and adds nothing. */
export const DEFAULT_STYLE = 'default';

/** Instructions on how to answer, which stand behind the system prompt. */
export interface OutputStyle {
  readonly name: string;
  readonly text: string;
}

/** The styles of these folders; of two with one name the later wins. What is wrong with files is said. */
export async function outputStyles(
  folders: readonly string[],
  note: (text: string) => void,
): Promise<ReadonlyMap<string, OutputStyle>> {
  const styles = new Map<string, OutputStyle>();
  for (const place of folders) {
    const names = (await readdir(place).catch(() => [])).filter((name) => name.endsWith('.md')).toSorted();
    for (const name of names) {
      const path = join(place, name);
      try {
        const file = await readSettingsFile(path);
        const style = styleOf(name.slice(0, -'.md'.length), file?.text ?? '');
        styles.set(style.name, style);
      } catch (error) {
        note(`${path} was left out: ${errorText(error)}`);
      }
    }
  }
  return styles;
}

function styleOf(fileName: string, text: string): OutputStyle {
  const [, head, body = text] = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(text) ?? [];
  const front: unknown = head === undefined ? {} : parse(head, { maxAliasCount: 0, logLevel: 'error' });
  if (!isJsonObject(front)) throw new Error('its front matter must be a list of keys with values');
  const { name = fileName } = front;
  if (typeof name !== 'string') throw new Error('its name must be a text');
  if (body.trim() === '') throw new Error('it has no text');
  return { name, text: body.trim() };
}
