import { defineTool, systemClock, type Tool } from '@treadle/core';
import { editFile } from './files/edit-file.ts';
import { listFiles, type ListLimits } from './files/list-files.ts';
import { readFile, type ReadLimits } from './files/read-file.ts';
import { writeFile } from './files/write-file.ts';
import { defaultSkippedFolders, MB, type CommonToolOptions } from './options.ts';
import { orIn, pathAccess } from './root/access.ts';
import { asRoot } from './root/root.ts';

/** Settings of {@link readFileTool}. */
export interface ReadFileToolOptions extends CommonToolOptions, ReadLimits {}

/**
 * The tool `read_file`: a text file's lines with their numbers, or an image. Memory is bounded by the limits, whatever
 * the file's size. Result `details`: `{ path, bytes, totalLines, firstLine, lastLine, truncated }`; `totalLines` is null
 * when counting a huge file was given up.
 *
 * @throws TreadleError `invalid_definition` when the root is not a folder.
 */
export function readFileTool(options: ReadFileToolOptions): Tool {
  const root = asRoot(options.root, options);
  return defineTool({
    name: 'read_file',
    label: 'Read a file',
    description:
      'Reads a text file with line numbers, or shows an image (PNG, JPEG, GIF, WebP). Give offset and limit to read ' +
      'part of a long file. The numbers and the tab after them are not part of the file.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: `Path of the file, relative to the root folder${orIn(root)}.` },
        offset: { type: 'integer', minimum: 1, description: 'First line to read, from 1.' },
        limit: { type: 'integer', minimum: 1, description: 'Number of lines to read.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    replay: 'safe',
    readOnly: true,
    access: ({ path }) => pathAccess(root, path, {}),
    execute: (args, context) => readFile(root.of(args.path), args, context, options),
  });
}

/**
 * The tool `write_file`: creates or replaces a file atomically, with the folders above it. A file that the model hasn't
 * read, or that changed since, is refused. Result `details`: `{ path, bytes, created }`.
 *
 * @throws TreadleError `invalid_definition` when the root is not a folder.
 */
export function writeFileTool(options: CommonToolOptions): Tool {
  const root = asRoot(options.root, options);
  return defineTool({
    name: 'write_file',
    label: 'Write a file',
    description:
      'Creates a file with the given content, or replaces the whole of an existing one. Missing folders are made. ' +
      'To change part of a file, use edit_file. An existing file has to be read with read_file first.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: `Path of the file, relative to the root folder${orIn(root)}.` },
        content: { type: 'string', description: 'The whole content of the file.' },
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    // Writing the same bytes twice is idempotent only while nobody else writes: between a crash and the replay a person
    // or a later command may have changed the file, and replaying would silently undo that.
    replay: 'never',
    readOnly: false,
    execution: 'sequential',
    access: ({ path }) => pathAccess(root, path, { write: true }),
    execute: (args, context) => writeFile(root.of(args.path), args, context),
  });
}

/** Settings of {@link editFileTool}. */
export interface EditFileToolOptions extends CommonToolOptions {
  /** Larger files are refused. Default 10 MB. */
  readonly maxBytes?: number;
}

/**
 * The tool `edit_file`: replaces the one exact occurrence of a text, atomically, keeping byte order mark, line ends,
 * final newline and mode. A file that the model hasn't read, or that changed since, is refused. Result `details`: `{ path, bytes, firstChangedLine, addedLines, removedLines, diff }`.
 *
 * @throws TreadleError `invalid_definition` when the root is not a folder.
 */
export function editFileTool(options: EditFileToolOptions): Tool {
  const root = asRoot(options.root, options);
  const maxBytes = options.maxBytes ?? 10 * MB;
  return defineTool({
    name: 'edit_file',
    label: 'Edit a file',
    description:
      'Replaces old_text by new_text in a UTF-8 file. old_text must occur exactly once, character for character, ' +
      'indentation included: give enough lines around the change to make it unique. Line ends are kept as they are. ' +
      'The file has to be read with read_file first.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: `Path of the file, relative to the root folder${orIn(root)}.` },
        old_text: { type: 'string', description: 'The text to replace, without line numbers.' },
        new_text: { type: 'string', description: 'What to put in its place; empty to delete.' },
      },
      required: ['path', 'old_text', 'new_text'],
      additionalProperties: false,
    },
    replay: 'never',
    readOnly: false,
    execution: 'sequential',
    access: ({ path }) => pathAccess(root, path, { write: true }),
    execute: (args, context) => editFile(root.of(args.path), args, context, maxBytes),
  });
}

/** Settings of {@link listFilesTool}. */
export interface ListFilesToolOptions extends CommonToolOptions, ListLimits {}

/**
 * The tool `list_files`: files and folders with their sizes, sorted. Result `details`:
 * `{ entries: [{ path, bytes, type }], total, truncated }`, with paths relative to the root and `type` one of `file`,
 * `directory`, `link`, `other`.
 *
 * @throws TreadleError `invalid_definition` when the root is not a folder.
 */
export function listFilesTool(options: ListFilesToolOptions): Tool {
  const root = asRoot(options.root, options);
  const { skipFolders = defaultSkippedFolders, maxDepth = 3, limit = 200, timeLimitMs = 10_000 } = options;
  const limits = { skipFolders, maxDepth, limit, timeLimitMs };
  return defineTool({
    name: 'list_files',
    label: 'List files',
    description:
      'Lists files and folders with sizes in bytes and paths relative to the root folder; folders end with /. ' +
      `Passes over ${skipFolders.join(', ')}.`,
    inputSchema: {
      type: 'object',
      properties: {
        path: {
          type: 'string',
          description: `Folder to list, relative to the root folder${orIn(root)}. Default: the root folder.`,
        },
        pattern: { type: 'string', description: 'Glob, such as *.ts (any folder) or src/**/*.{ts,tsx}.' },
        max_depth: {
          type: 'integer',
          minimum: 1,
          maximum: 30,
          description: `How deep to go. Default ${limits.maxDepth}.`,
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 5000,
          description: `Most entries to list. Default ${limits.limit}.`,
        },
        sort: {
          type: 'string',
          enum: ['path', 'size', 'modified'],
          description: 'path (default); size: files only, largest first; modified: newest first.',
        },
      },
      additionalProperties: false,
    },
    replay: 'safe',
    readOnly: true,
    access: ({ path = '.' }) => pathAccess(root, path, { recursive: true }),
    execute: (args, context) =>
      listFiles(root.of(args.path ?? '.'), args, context, options.clock ?? systemClock, limits),
  });
}
