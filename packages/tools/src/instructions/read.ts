import { relative } from 'node:path';
import { readAt } from '../files/read-file.ts';
import { KB } from '../options.ts';
import { openRoot, type Root } from '../root/root.ts';
import type { OpenedFile } from '../root/open.ts';
import { FileProblem, problemFrom } from '../root/problem.ts';
import { decoderFor, sniff } from '../text/decode.ts';
import { instructionPlaces } from './find.ts';
import { instructionsText, visibleText } from './text.ts';

/** Settings of {@link readProjectInstructions}. */
export interface ProjectInstructionsOptions {
  /** Names looked for in each folder; the first one there is is read. Default `AGENTS.md`, then `CLAUDE.md`. */
  readonly names?: readonly string[];
  /** Bytes read of one file; the rest is left out. Default 64 KB. */
  readonly maxFileBytes?: number;
  /** Bytes read of all files, the nearest first. Default 128 KB. */
  readonly maxTotalBytes?: number;
  readonly signal?: AbortSignal;
}

/** A file that was read. */
export interface InstructionFile {
  /** Relative to the working folder, such as `AGENTS.md` or `../../AGENTS.md`. */
  readonly path: string;
  /** Size of the whole file. */
  readonly bytes: number;
  /** What of it the model is told. */
  readonly text: string;
  /** True when it was too large to be read whole. */
  readonly truncated: boolean;
}

/** What there is to know about a file that was not read, or not as it is. */
export interface InstructionWarning {
  readonly path: string;
  readonly message: string;
}

/** The instructions of a project, as `defineAgent` takes them (`text`), and where they came from. */
export interface ProjectInstructions {
  /** The repository's root, or the working folder where there is no repository. */
  readonly root: string;
  /** The nearest to the working folder last. */
  readonly files: readonly InstructionFile[];
  readonly warnings: readonly InstructionWarning[];
  /** For `projectInstructions` of an agent; empty without files. */
  readonly text: string;
}

const NAMES = ['AGENTS.md', 'CLAUDE.md'];

const SNIFFED = 8 * KB;

/**
 * Reads a project's instruction files, from the working folder up to the root of its repository. In each folder that is
 * `AGENTS.md`, or else `CLAUDE.md`. Whatever they are, it is bounded and never waits: at most so many bytes are read, and
 * what is no text file of this repository (binary, a pipe or a device, a link that leads out or in circles) is passed over
 * with a warning. Nothing of a file is executed or followed.
 *
 * @throws TreadleError `invalid_definition` when `folder` is not a folder.
 * @example
 * ```ts
 * import { defineAgent } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 * import { readProjectInstructions } from '@treadle/tools';
 *
 * const { files, warnings, text } = await readProjectInstructions(process.cwd());
 * for (const { path } of files) console.log(`Following ${path}`);
 * for (const { message } of warnings) console.warn(message);
 * const agent = defineAgent({ model: scriptedModel(['Hello.']), projectInstructions: text });
 * ```
 */
export async function readProjectInstructions(
  folder: string,
  options: ProjectInstructionsOptions = {},
): Promise<ProjectInstructions> {
  const { names = NAMES, maxFileBytes = 64 * KB, maxTotalBytes = 128 * KB, signal } = options;
  const { path: start } = openRoot(folder);
  const places = await instructionPlaces(start);
  const root = openRoot(places.root);
  const files: InstructionFile[] = [];
  const warnings: InstructionWarning[] = [];
  const seen = new Set<string>();
  let left = maxTotalBytes;
  // The nearest first: when there is no room for all, it is the farthest that are left out.
  for (const place of places.folders.toReversed()) {
    const show = (name: string): string => relative(start, `${root.path}/${place}/${name}`) || name;
    const found = await openFirst(root, place, names, show, warnings);
    if (!found) continue;
    const { opened, path } = found;
    try {
      const identity = `${opened.stats.dev}:${opened.stats.ino}`;
      // A link to one that was read already says nothing new.
      if (seen.has(identity)) continue;
      seen.add(identity);
      const file = await readFile(opened, path, { most: Math.min(maxFileBytes, left), signal, warnings }).catch(
        (error: unknown) => {
          const problem = problemFrom(error, path);
          if (!(problem instanceof FileProblem) || problem.code === 'aborted') throw error;
          warnings.push({ path, message: `${path} was not read: ${reasonOf(problem)}` });
        },
      );
      if (!file) continue;
      left -= Math.min(file.bytes, maxFileBytes, left);
      files.unshift(file);
    } finally {
      await opened.handle.close();
    }
  }
  return { root: root.path, files, warnings, text: instructionsText(files) };
}

/** The first of the names that is a regular file inside the root. */
async function openFirst(
  root: Root,
  place: string,
  names: readonly string[],
  show: (name: string) => string,
  warnings: InstructionWarning[],
): Promise<{ readonly opened: OpenedFile; readonly path: string } | null> {
  for (const name of names) {
    const path = show(name);
    try {
      return { opened: await root.open(`./${place}/${name}`), path };
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      if (error.code !== 'not_found') warnings.push({ path, message: `${path} was not read: ${reasonOf(error)}` });
    }
  }
  return null;
}

const REASONS: Partial<Record<FileProblem['code'], string>> = {
  outside_root: 'it is a link that leads out of the repository.',
  bad_path: 'it is a link that leads in circles.',
  is_directory: 'it is a folder.',
  not_regular: 'it is a device, a socket or a pipe.',
  hard_link: 'it has several hard links, so it may be a file outside the repository too.',
};

const reasonOf = (problem: FileProblem): string => REASONS[problem.code] ?? problem.message;

interface Reading {
  readonly most: number;
  readonly signal: AbortSignal | undefined;
  readonly warnings: InstructionWarning[];
}

async function readFile(opened: OpenedFile, path: string, reading: Reading): Promise<InstructionFile | null> {
  const { most, signal, warnings } = reading;
  const warn = (message: string): void => void warnings.push({ path, message: `${path} ${message}` });
  const bytes = opened.stats.size;
  if (most <= 0) {
    warn('was not read: the files nearer to the working folder are as much as is read.');
    return null;
  }
  const content = await readAt(opened, 0, most + 1, signal);
  const truncated = content.length > most;
  const start = content.subarray(0, SNIFFED);
  const sniffed = sniff(start, start.length === content.length);
  if (sniffed.kind === 'binary') {
    warn('was not read: it is not a text file.');
    return null;
  }
  const whole = decoderFor(sniffed.encoding).decode(content.subarray(0, most), { stream: truncated });
  const { text, removed } = visibleText(truncated ? whole.slice(0, whole.lastIndexOf('\n') + 1) || whole : whole);
  if (truncated) warn(`has ${bytes} bytes, of which the first ${most} were read.`);
  if (removed > 0) warn(`has ${removed} characters that can't be seen; they were left out.`);
  return { path, bytes, text: truncated ? `${text.trimEnd()}\n[the rest of this file was left out]` : text, truncated };
}
