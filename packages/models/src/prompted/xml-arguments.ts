import type { JsonSchema } from '@treadle/core';
import { entityDecoder, type EntityDecoder } from './xml-text.ts';
import { isList, objectText, propertySchema, resolveSchema, valueText, type XmlNode } from './xml-value.ts';

/** Writes the arguments of one call as JSON text while their elements arrive. */
export function argumentsWriter() {
  let root: JsonSchema = {};
  let schema: JsonSchema = {};
  let known = false;
  let began = false;
  let fresh = '';
  let text = '';
  const written = new Set<string>();
  /** Lists are written at the end, for their elements may be apart; without a schema everything is. */
  const kept: XmlNode[] = [];
  let decoder: EntityDecoder | null = null;

  function write(piece: string): void {
    fresh += piece;
    text += piece;
  }

  const inString = (value: string): string => JSON.stringify(value).slice(1, -1);

  function member(name: string): void {
    write(`${text === '{' ? '' : ','}${JSON.stringify(name)}:`);
  }

  return {
    /** The schema of the arguments; an empty one until `begin`, and when the tool isn't known. */
    get root() {
      return root;
    },
    get schema() {
      return schema;
    },
    /** `undefined` says that the tool isn't known yet: all is written at the end. */
    begin(given: JsonSchema | undefined): void {
      began = true;
      known = given !== undefined;
      if (!given) return;
      root = given;
      schema = resolveSchema(given, given);
      write('{');
    },
    /** An argument begins. `streams`: it is text, and is written as it comes. False when it was there before. */
    open(name: string, streams: boolean): boolean {
      if (known && !isList(propertySchema(schema, name, root), root)) {
        if (written.has(name)) return false;
        written.add(name);
      }
      if (!known || !streams) return true;
      member(name);
      write('"');
      decoder = entityDecoder();
      return true;
    },
    /** Text of an argument that streams, with its entities, and text that is meant as it stands. */
    raw(piece: string): void {
      const decoded = decoder?.push(piece) ?? '';
      if (decoded !== '') write(inString(decoded));
    },
    literal(piece: string): void {
      write(inString((decoder?.end() ?? '') + piece));
    },
    close(node: XmlNode): void {
      if (decoder) {
        write(`${inString(decoder.end())}"`);
        decoder = null;
        return;
      }
      const property = propertySchema(schema, node.name, root);
      if (!known || isList(property, root)) {
        kept.push(node);
        return;
      }
      member(node.name);
      write(valueText([node], property, root));
    },
    /** The arguments are over. */
    end(): void {
      if (!known) return;
      const lists = objectText(kept, schema, root).slice(1, -1);
      write(`${lists === '' || text === '{' ? '' : ','}${lists}}`);
    },
    /** The body is over; the schema, if only now it is known. */
    finish(late: JsonSchema | undefined): void {
      if (known || !began || kept.length === 0) return;
      const rootSchema = late ?? {};
      write(objectText(kept, resolveSchema(rootSchema, rootSchema), rootSchema));
    },
    /** What was written since the last time. */
    take(): string {
      const taken = fresh;
      fresh = '';
      return taken;
    },
    get text() {
      return text;
    },
  };
}
