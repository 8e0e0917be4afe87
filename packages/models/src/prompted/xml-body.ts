import type { JsonSchema } from '@treadle/core';
import { MAX_JSON_DEPTH } from '@treadle/core/json';
import type { Body, BodyProblem, SchemaOf } from './body.ts';
import { argumentsWriter } from './xml-arguments.ts';
import { decodeEntities, escapeText } from './xml-text.ts';
import { isList, isText, propertySchema, resolveSchema, type XmlNode } from './xml-value.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const FIELDS: ReadonlySet<string> = new Set(['server_name', 'tool_name', 'arguments']);
const MAX_TAG = 300;
const CDATA = '<![CDATA[';
const CDATA_END = ']]>';

interface OpenElement {
  readonly node: XmlNode;
  readonly schema: JsonSchema;
  /** It holds text only: everything up to its own end tag is text, markup or not. */
  readonly text: boolean;
}

/** The body `<server_name>…</server_name><tool_name>…</tool_name><arguments>…</arguments>`. */
export function xmlBody(schemaOf: SchemaOf): Body {
  let state: Body['state'] = 'open';
  let problem: BodyProblem | null = null;
  const names: { server: string | undefined; tool: string | undefined } = { server: undefined, tool: undefined };
  const seen = new Set<string>();
  const open: OpenElement[] = [];
  let top: OpenElement | undefined;
  /** Markup whose end hasn't come: a tag from its `<` on, or what may be the end of a text or a CDATA section. */
  let held = '';
  let inCdata = false;
  const args = argumentsWriter();

  function fail(message: string): void {
    state = 'failed';
    problem = { reason: 'invalid_xml', message };
  }

  /** Arguments that are text are written while they come; other text waits, as it was written, for its element's end. */
  const streams = (): boolean => open.length === 2 && top?.text === true;

  function addRaw(text: string): void {
    if (text === '') return;
    if (streams()) args.raw(text);
    else if (top) top.node.text += text;
    else if (text.trim() !== '') fail('there is text outside of the elements');
  }

  function addLiteral(text: string): void {
    if (streams()) args.literal(text);
    else if (top) top.node.text += escapeText(text);
  }

  /** Reads text up to what may be markup. Returns where it stopped. */
  function readText(text: string, from: number): number {
    const end = text.indexOf('<', from);
    const to = end < 0 ? text.length : end;
    addRaw(text.slice(from, to));
    if (end < 0 || state !== 'open') return to;
    held = '<';
    return to + 1;
  }

  /** Reads on in a CDATA section. Returns where it stopped. */
  function readCdata(text: string, from: number): number {
    if (held === '') {
      const end = text.indexOf(']', from);
      const to = end < 0 ? text.length : end;
      addLiteral(text.slice(from, to));
      if (end >= 0) held = ']';
      return end < 0 ? to : to + 1;
    }
    held += text[from] ?? '';
    if (held === CDATA_END) {
      held = '';
      inCdata = false;
    } else if (!CDATA_END.startsWith(held)) {
      // Of `]]]` the first is text, and the rest may still be the end.
      const keep = held.endsWith(']]') ? 2 : held.endsWith(']') ? 1 : 0;
      addLiteral(held.slice(0, held.length - keep));
      held = held.slice(held.length - keep);
    }
    return from + 1;
  }

  /** One more character of what began with `<`. */
  function readMarkup(character: string): void {
    held += character;
    if (held === CDATA && top) {
      held = '';
      inCdata = true;
      return;
    }
    if (top && CDATA.startsWith(held)) return;
    if (top?.text === true) return readEndOfText(top.node.name);
    if (character === '>') {
      const tag = held.slice(1, -1);
      held = '';
      return readTag(tag);
    }
    if (character === '<' || held.length > MAX_TAG) fail(`the tag ${JSON.stringify(held.slice(0, 40))} has no end`);
  }

  function readEndOfText(name: string): void {
    const end = `</${name}>`;
    if (held === end) {
      held = '';
      return closeElement();
    }
    if (end.startsWith(held)) return;
    // It was text after all, and its last character may begin the next try.
    const again = held.endsWith('<') ? held.length - 1 : held.length;
    addRaw(held.slice(0, again));
    held = held.slice(again);
  }

  function readTag(tag: string): void {
    if (tag.startsWith('/')) return readEndTag(tag.slice(1).trim());
    const isEmpty = tag.endsWith('/');
    const name = (isEmpty ? tag.slice(0, -1) : tag).trim();
    if (!NAME.test(name)) return fail(`<${tag.slice(0, 40)}> is not a plain tag`);
    if (open.length >= MAX_JSON_DEPTH) return fail(`elements are nested more than ${MAX_JSON_DEPTH} deep`);
    if (top) openChild(top, name);
    else openField(name);
    if (isEmpty && state === 'open') closeElement();
  }

  function readEndTag(name: string): void {
    if (top) {
      if (top.node.name === name) return closeElement();
      return fail(`</${name}> comes where </${top.node.name}> is expected`);
    }
    if (name !== 'tool') return fail(`</${name}> ends nothing`);
    args.finish(schemaOf(names));
    state = 'closed';
  }

  function push(element: OpenElement): void {
    open.push(element);
    top = element;
  }

  function openField(name: string): void {
    if (!FIELDS.has(name)) return fail(`<${name}> is not one of <server_name>, <tool_name> and <arguments>`);
    if (seen.has(name)) return fail(`<${name}> is given twice`);
    seen.add(name);
    if (name === 'arguments') args.begin(schemaOf(names));
    push({ node: newNode(name), schema: args.schema, text: name !== 'arguments' });
  }

  function openChild(parent: OpenElement, name: string): void {
    if (parent.node.text.trim() !== '') return fail(`<${parent.node.name}> has text beside elements`);
    parent.node.text = '';
    const { root } = args;
    const schema = isList(parent.schema, root)
      ? resolveSchema(parent.schema['items'], root)
      : propertySchema(parent.schema, name, root);
    const node = newNode(name);
    const text = isText(schema, root);
    if (open.length > 1) parent.node.children.push(node);
    else if (!args.open(name, text)) return fail(`<${name}> is given twice`);
    push({ node, schema, text });
  }

  function closeElement(): void {
    const node = open.pop()?.node;
    top = open.at(-1);
    if (!node) return;
    if (node.children.length > 0 && node.text.trim() !== '') return fail(`<${node.name}> has text beside elements`);
    node.text = decodeEntities(node.text);
    if (open.length === 1) return args.close(node);
    if (open.length > 1) return;
    if (node.name === 'server_name') names.server = node.text.trim();
    else if (node.name === 'tool_name') names.tool = node.text.trim();
    else if (node.text.trim() === '') args.end();
    else fail('<arguments> has text beside elements');
  }

  return {
    push(text, from) {
      let at = from;
      while (at < text.length && state === 'open') {
        if (inCdata) at = readCdata(text, at);
        else if (held === '') at = readText(text, at);
        else {
          readMarkup(text[at] ?? '');
          at += 1;
        }
      }
      return at;
    },
    get state() {
      return state;
    },
    names,
    takeArguments: () => args.take(),
    get argumentsText() {
      return args.text;
    },
    get problem() {
      return problem;
    },
    end: () => false,
  };
}

const newNode = (name: string): XmlNode => ({ name, text: '', children: [] });
