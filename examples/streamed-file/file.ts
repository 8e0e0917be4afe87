import { defineTool, type Tool } from '@treadle/core';
import { describeChange } from '@treadle/tools';

/** The one file of a variant, as its calls leave it. */
export interface FileState {
  path: string;
  /** Null before there is one. */
  content: string | null;
}

/** One replacement: `count` of the places where `old_text` stands, the first on; −1 for all. */
interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly count?: number | undefined;
}

/** Writes the whole file. What it holds is shown while the model writes it. */
export const createFileTool = (file: FileState): Tool =>
  defineTool({
    name: 'create_file',
    description: 'Writes the whole page into its file, in place of what was there. Use edit_file for small changes.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'Default: index.html.' },
        content: { type: 'string', description: 'The whole file.' },
      },
      required: ['content'],
      additionalProperties: false,
    },
    execution: 'sequential',
    execute: ({ path, content }) => {
      if (content.trim() === '') throw new Error('The content is empty. Give the whole page.');
      file.path = path ?? file.path;
      file.content = content;
      const lines = content.split('\n').length;
      return {
        content: `Wrote ${file.path}: ${lines} lines.`,
        details: { updatedContent: content, summary: { path: file.path, lines, characters: content.length } },
      };
    },
  });

/** Replaces texts in the file: all of the edits, or none. */
export const editFileTool = (file: FileState): Tool =>
  defineTool({
    name: 'edit_file',
    description:
      'Replaces exact texts in the file: either old_text by new_text, or several edits, of which all are made or none. ' +
      'count says how many places, from the first; -1 means all. Default 1.',
    inputSchema: {
      type: 'object',
      properties: {
        old_text: { type: 'string', minLength: 1 },
        new_text: { type: 'string' },
        count: { type: 'integer' },
        edits: {
          type: 'array',
          minItems: 1,
          maxItems: 100,
          items: {
            type: 'object',
            properties: {
              old_text: { type: 'string', minLength: 1 },
              new_text: { type: 'string' },
              count: { type: 'integer' },
            },
            required: ['old_text', 'new_text'],
            additionalProperties: false,
          },
        },
      },
      additionalProperties: false,
    },
    execution: 'sequential',
    execute: ({ old_text, new_text, count, edits }) => {
      const before = file.content;
      if (before === null) throw new Error('There is no file yet. Write it with create_file.');
      const single = old_text !== undefined && new_text !== undefined ? [{ old_text, new_text, count }] : [];
      if ((edits === undefined) === (single.length === 0)) {
        throw new Error('Give old_text and new_text, or edits, and not both.');
      }
      const after = applyEdits(before, edits ?? single);
      const { diff, firstChangedLine } = describeChange(file.path, before, after);
      file.content = after;
      return {
        content: JSON.stringify({ diff, firstChangedLine }),
        details: { updatedContent: after, summary: { path: file.path, diff, firstChangedLine } },
      };
    },
  });

/** @throws Error that names the edit which can't be made; then nothing is changed. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let now = text;
  for (const [index, edit] of edits.entries())
    now = applyEdit(now, edit, edits.length > 1 ? `Edit ${index + 1}: ` : '');
  if (now === text) throw new Error('The edits change nothing.');
  return now;
}

function applyEdit(text: string, { old_text: old, new_text: now, count = 1 }: Edit, name: string): string {
  if (count !== -1 && count < 1) throw new Error(`${name}count is ${count}. It must be at least 1, or -1 for all.`);
  const parts = text.split(old);
  const found = parts.length - 1;
  const shown = JSON.stringify(old.length > 80 ? `${old.slice(0, 80)}…` : old);
  if (found === 0) throw new Error(`${name}${shown} isn't in the file, so nothing was changed. Copy the text exactly.`);
  if (count > found) throw new Error(`${name}${shown} is there ${found} times, not ${count}. Nothing was changed.`);
  const replaced = count === -1 ? found : count;
  return parts.reduce((left, right, at) => left + (at <= replaced ? now : old) + right);
}

/** Looks up what another variant came to. Options count from 1. */
export const retrieveOptionTool = (codes: readonly string[]): Tool =>
  defineTool({
    name: 'retrieve_option',
    description: `Returns the whole code of one of the ${codes.length} options that the user was shown. They count from 1.`,
    inputSchema: {
      type: 'object',
      properties: { option_number: { type: 'integer', minimum: 1, maximum: codes.length } },
      required: ['option_number'],
      additionalProperties: false,
    },
    readOnly: true,
    execute: ({ option_number: number }) => {
      const code = codes[number - 1];
      if (code === undefined) throw new Error(`There is no option ${number}: there are ${codes.length}.`);
      return { content: code, details: { summary: { option: number, characters: code.length } } };
    },
  });
