import type { JsonObject, JsonValue } from '@treadle/core';
import { serverToolOf } from './names.ts';
import { escapeText } from './xml-text.ts';

/** How a call is written: its body as JSON, or as nested elements. Both are read, whichever is taught. */
export type CallForm = 'json' | 'xml';

/** A call as the model is to write it. The same call gives the same text, always. */
export function callElement(name: string, args: JsonObject, form: CallForm): string {
  const { server, tool } = serverToolOf(name);
  if (form === 'json') {
    return `<tool>${JSON.stringify({ server_name: server, tool_name: tool, arguments: args })}</tool>`;
  }
  const fields = [element('server_name', server), element('tool_name', tool)];
  return `<tool>\n${fields.join('\n')}\n<arguments>${members(args)}</arguments>\n</tool>`;
}

const element = (name: string, value: JsonValue): string => `<${name}>${inner(value)}</${name}>`;

function inner(value: JsonValue): string {
  if (typeof value === 'string') return escapeText(value);
  if (Array.isArray(value)) return value.map((item: JsonValue) => element('item', item)).join('');
  return value !== null && typeof value === 'object' ? members(value as JsonObject) : String(value);
}

/** Keys that are no names of elements can't be written this way; what has any is written as JSON. */
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

function members(value: JsonObject): string {
  const entries = Object.entries(value);
  if (!entries.every(([key]) => NAME.test(key))) return escapeText(JSON.stringify(value));
  return entries.map(([key, item]) => element(key, item ?? null)).join('');
}
