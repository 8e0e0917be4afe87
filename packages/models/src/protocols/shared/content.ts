import type { FileBlock, ImageBlock, UserContent } from '@treadle/core';
import { base64Text } from './base64.ts';
import { toJson } from './json-text.ts';

/** A text in place of what a model can't be shown. */
export const unshown = (what: string): string => `[${what} can not be shown to this model]`;

export const unshownFile = ({ name = 'without a name', mediaType }: FileBlock): string =>
  unshown(`The file ${name} of type ${mediaType}`);

/** The text of a file, after its name; undefined where it is none. */
export function fileText({ data, name }: FileBlock): string | undefined {
  const content = data === undefined ? undefined : base64Text(data);
  return content === undefined || name === undefined ? content : `${name}:\n${content}`;
}

/** Several wires refuse a text of nothing but white space. */
export const isBlank = (value: string): boolean => value.trim() === '';

/** What the blocks of a message are on a wire. Texts of nothing but white space are left out. */
export const shownBlocks = (
  content: readonly UserContent[],
  text: (value: string) => object,
  image: (block: ImageBlock) => object,
  file: (block: FileBlock) => object,
): object[] =>
  content.flatMap((block) => {
    if (block.type === 'image') return [image(block)];
    if (block.type === 'file') return [file(block)];
    return isBlank(block.text) ? [] : [text(block.text)];
  });

/** JSON of the elements of an array, without its brackets. */
export const elements = (blocks: readonly (object | undefined)[]): string =>
  blocks.flatMap((block) => (block === undefined ? [] : [toJson(block)])).join(',');
