import type { FileBlock } from '@treadle/core';

const LONGEST_NAME = 200;

/** Letters, digits, single spaces, hyphens, parentheses and brackets are legal; anything else becomes a hyphen. */
const legalName = (name: string): string =>
  name
    .replace(/\.[a-z0-9]{1,5}$/i, '')
    .replace(/[^a-zA-Z0-9\s()[\]-]/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, LONGEST_NAME)
    .trim();

/**
 * Names the documents of one conversation, legally and differently from each other. A name depends only on those before
 * it, so it stays when the conversation grows.
 */
export function createDocumentNames(): (file: FileBlock) => string {
  const used = new Set<string>();
  return (file) => {
    const wanted = legalName(file.name ?? '') || 'document';
    let name = wanted;
    for (let copy = 2; used.has(name); copy++) {
      const suffix = ` (${copy})`;
      name = wanted.slice(0, LONGEST_NAME - suffix.length).trim() + suffix;
    }
    used.add(name);
    return name;
  };
}
