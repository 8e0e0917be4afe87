import { isJsonObject } from '@treadle/core/json';

/** What stands above the text of a Markdown file. Every value is text, a list or a map. */
export interface FrontMatter {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** True when the text is YAML only after its plain values were quoted. */
  readonly isRepaired: boolean;
}

const MAX_LENGTH = 64_000;

export const FENCED = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)([\s\S]*)$/;

/**
 * Splits a Markdown file into its front matter and its text.
 *
 * @throws Error that says what is wrong.
 */
export async function splitFrontMatter(text: string): Promise<FrontMatter> {
  const [whole, head = '', body = ''] = FENCED.exec(text) ?? [];
  if (whole === undefined) throw new Error('it does not begin with front matter between two lines of ---');
  if (head.length > MAX_LENGTH) throw new Error(`its front matter is longer than ${MAX_LENGTH} characters`);
  try {
    return { fields: await fieldsOf(head), body: body.trim(), isRepaired: false };
  } catch (error) {
    const repaired = quotePlainValues(head);
    if (repaired === head) throw error;
    return { fields: await fieldsOf(repaired), body: body.trim(), isRepaired: true };
  }
}

async function fieldsOf(head: string): Promise<Readonly<Record<string, unknown>>> {
  // Loaded on use: many have no skills.
  const { parse } = await import('yaml');
  // The failsafe schema makes no numbers, dates or booleans of what is meant as text.
  const fields: unknown = parse(head, {
    schema: 'failsafe',
    maxAliasCount: 0,
    uniqueKeys: false,
    logLevel: 'error',
    prettyErrors: false,
  });
  if (!isJsonObject(fields)) throw new Error('its front matter must be a list of keys with values');
  return fields;
}

/** Quotes the plain text after the keys: `description: Use when: ...` is common, and no YAML. */
function quotePlainValues(head: string): string {
  const lines: string[] = [];
  const source = head.split(/\r?\n/);
  for (let index = 0; index < source.length; index += 1) {
    const line = source[index] ?? '';
    const [, key, value = ''] = /^([A-Za-z][\w-]*):[ \t]+(\S.*)$/.exec(line) ?? [];
    if (key === undefined || !isPlain(key, value.trim())) {
      lines.push(line);
      continue;
    }
    const words = [value.trim()];
    for (; /^[ \t]+\S/.test(source[index + 1] ?? ''); index += 1) words.push((source[index + 1] ?? '').trim());
    lines.push(`${key}: ${JSON.stringify(words.join(' '))}`);
  }
  return lines.join('\n');
}

/** `argument-hint: [file] [words]` is no list. */
const isPlain = (key: string, value: string): boolean =>
  (key === 'argument-hint' && value.startsWith('[')) || !/^(".*"|'.*'|\[.*\]|\{.*\}|[|>][-+\d]*)$/.test(value);
