import type { JsonValue, ToolResultContent } from '@treadle/core';
import type { Frame, StreamFormat } from '@treadle/server';
import { relayFormat, type RelayItem, type RelayOptions, type Speaker } from './encoder.ts';

/**
 * The XML tags of browser-tool relays: `<content-block-text>`, `<content-block-tool_call>`, `<awaiting_frontend_tools>` and so
 * on. Whatever a model or a tool says is escaped, so that no text can open or close a tag. A backslash is written twice and
 * a line end as `\n`: a reader undoes both before it parses.
 */
export const relayXmlFormat = (options: RelayOptions = {}): StreamFormat =>
  relayFormat('xml', options, () => (item, speaker) => xmlOf(item, speaker).map(frame));

const frame = (xml: string): Frame => ({
  data: xml.replaceAll('\\', '\\\\').replaceAll('\r', '\\r').replaceAll('\n', '\\n'),
});

function xmlOf(item: RelayItem, { agent, parent }: Speaker): string[] {
  // Only a sub-agent's blocks say whose they are: the others are the session's.
  const who = parent === null ? {} : { agent, parent_agent: parent };
  switch (item.type) {
    case 'text':
    case 'thinking':
      if (item.step === 'start') return [open(`content-block-${item.type}`, who)];
      return [item.step === 'end' ? `</content-block-${item.type}>` : escapeText(item.text)];
    case 'meta_init':
    case 'meta_final':
      return [empty(item.type, { data: JSON.stringify(item.data) })];
    case 'meta_files':
      return [empty('content-block-meta_files', { data: JSON.stringify(item.data) })];
    case 'tool_call':
    case 'server_tool_call':
      return [
        empty(`content-block-${item.type}`, { id: item.id, name: item.name, arguments: textOf(item.input), ...who }),
      ];
    case 'tool_result':
      return [element('content-block-tool_result', { id: item.id, name: item.name, ...who }, resultBody(item.content))];
    case 'server_tool_result':
      return [
        element('content-block-server_tool_result', { id: item.id, name: item.name, ...who }, cdata(textOf(item.raw))),
      ];
    case 'citations':
      return [element('citations', who, item.citations.map(citation).join(''))];
    case 'awaiting_frontend_tools':
    case 'awaiting_approvals':
      return [empty(item.type, { data: JSON.stringify(item.tools) })];
    case 'discarded':
      return [empty('content-block-discarded', who)];
    case 'error':
      return [element('content-block-error', who, cdata(item.message))];
    case 'message_start':
    case 'message_end':
      return [];
  }
}

function resultBody(content: readonly ToolResultContent[]): string {
  const [first, ...rest] = content;
  if (first === undefined) return cdata('');
  if (first.type === 'text' && rest.length === 0) return cdata(first.text);
  return content
    .map((block) => {
      if (block.type === 'text') return element('text', {}, cdata(block.text));
      const src = block.url ?? `data:${block.mediaType};base64,${block.data ?? ''}`;
      return empty('image', { src, media_type: block.mediaType });
    })
    .join('');
}

function citation(value: JsonValue): string {
  const type =
    typeof value === 'object' && value !== null && !Array.isArray(value) && 'type' in value ? value['type'] : null;
  return empty('citation', { type: typeof type === 'string' ? type : 'unknown', data: JSON.stringify(value) });
}

type Attributes = Readonly<Record<string, string>>;

const textOf = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));

const open = (name: string, attributes: Attributes): string =>
  `<${name}${Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeAttribute(value)}"`)
    .join('')}>`;

const element = (name: string, attributes: Attributes, body: string): string =>
  `${open(name, attributes)}${body}</${name}>`;

const empty = (name: string, attributes: Attributes): string => element(name, attributes, '');

/** Characters that no XML may have, whatever stands around them. */
const FORBIDDEN = new RegExp(
  String.raw`[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]`,
  'g',
);

const legal = (text: string): string => text.replace(FORBIDDEN, '\ufffd');

const escapeText = (text: string): string =>
  legal(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const escapeAttribute = (text: string): string =>
  escapeText(text)
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\r', '&#13;')
    .replaceAll('\t', '&#9;');

/** An end of a section inside of it is cut in two. */
const cdata = (text: string): string => `<![CDATA[${legal(text).replaceAll(']]>', ']]]]><![CDATA[>')}]]>`;
