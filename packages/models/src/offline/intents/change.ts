import { editsFor, occurrencesOf, replaceAt, type Replacement } from '../data/edits.ts';
import type { Change, EditJob } from '../jobs.ts';
import { globOf } from '../language/selection.ts';
import { counted, listed } from '../language/words.ts';
import { readWhole } from '../reading/file.ts';
import { placeName } from '../reading/listing.ts';
import { literally, parseMatches } from '../reading/matches.ts';
import {
  callTool,
  failureText,
  JobStopped,
  tryTool,
  type FileFact,
  type Finding,
  type Room,
  type Script,
  type WholeFile,
} from '../script.ts';
import { MOST_FILES, resolveTarget } from './target.ts';

/** Finds the files, makes the edits in each, and reads each back. */
export function* editScript(job: EditJob, room: Room): Script<Finding> {
  const targets = yield* filesOf(job, room);
  const done: string[] = [];
  const changed: FileFact[] = [];
  for (const { path } of targets) {
    const said = yield* editFile(job.change, path, room, targets.length > 1, done);
    if (said === undefined) continue;
    done.push(said);
    changed.push({ path });
  }
  if (changed.length === 0)
    throw new JobStopped(
      `None of the ${counted(targets.length, 'file')} holds ${wordsOf(job.change)}, so nothing was changed.`,
    );
  return { text: done.join('\n'), files: changed, items: done.map((text) => ({ text })) };
}

function wordsOf(change: Change): string {
  return change.kind === 'replace' ? `"${change.from}"` : `what is to be changed`;
}

/** A file or a choice of files is taken as it is; of a whole folder, only the files that a search finds the text in. */
function* filesOf({ change, target }: EditJob, room: Room): Script<readonly FileFact[]> {
  if (target.by === 'folder') return yield* filesWith(change, target.folder, undefined, room);
  if (target.by !== 'selection' || target.selection.order !== undefined || target.selection.count !== undefined) {
    return yield* resolveTarget(target, room);
  }
  const glob = globOf(target.selection);
  return yield* glob === null ? resolveTarget(target, room) : filesWith(change, target.selection.folder, glob, room);
}

/** The files of a folder that hold the text, by searching for it. */
function* filesWith(change: Change, folder: string, glob: string | undefined, room: Room): Script<readonly FileFact[]> {
  if (change.kind !== 'replace' || change.from.includes('\n')) {
    throw new JobStopped(`Name the file: I can only replace words, on one line, in all files of ${placeName(folder)}.`);
  }
  const text = yield* callTool(room, `Searching ${placeName(folder)} for "${change.from}".`, 'search', {
    pattern: literally(change.from),
    path: folder,
    ...(glob !== undefined && { glob }),
    case_sensitive: true,
    limit: 1000,
  });
  const found = parseMatches(text);
  const files = [...new Set(found.matches.map((match) => match.path))];
  if (files.length === 0)
    throw new JobStopped(`"${change.from}" occurs nowhere in ${placeName(folder)}, so nothing was changed.`);
  if (files.length > MOST_FILES || found.cut) {
    throw new JobStopped(
      `"${change.from}" occurs in ${found.cut ? 'more files than one search shows' : counted(files.length, 'file')}; I change at most ${MOST_FILES} in one go. Nothing was changed. Name a smaller folder.`,
    );
  }
  return files.map((path) => ({ path }));
}

/** Changes one file. Nothing when it doesn't hold what is to be changed and others may. */
function* editFile(
  change: Change,
  path: string,
  room: Room,
  oneOfMany: boolean,
  done: readonly string[],
): Script<string | undefined> {
  const stopped = (reason: string): JobStopped => new JobStopped([...done, reason].join('\n'));
  const file = yield* readWhole(room, path);
  if (file.image !== undefined) throw stopped(`${path} is an image; I can only change text.`);
  if (file.note !== undefined)
    throw stopped(`I left ${path} as it is, because I could not read all of it exactly. ${file.note}`);
  const text = file.lines.join('\n');
  if (change.kind === 'append' && text === '') return yield* writeFirst(change.text, path, room);
  const planned = replacementsFor(change, file, text);
  if (typeof planned === 'string') {
    if (oneOfMany && change.kind === 'replace') return undefined;
    throw stopped(planned);
  }
  const edits = editsFor(text, planned);
  for (const [i, edit] of edits.entries()) {
    const say = edits.length === 1 ? `Changing ${path}.` : `Changing ${path}: edit ${i + 1} of ${edits.length}.`;
    const result = yield* tryTool(room, say, 'edit_file', { path, old_text: edit.oldText, new_text: edit.newText });
    room.read.delete(path);
    if (result.isError) {
      throw stopped(
        `${failureText(result)}${i === 0 ? '' : `\n${path} is changed in part: ${i} of ${edits.length} edits were made before.`}`,
      );
    }
  }
  const now = yield* readWhole(room, path);
  const places = planned.length;
  const lines = [...new Set(planned.map(({ start }) => text.slice(0, start).split('\n').length))];
  const where = lines.length > 8 ? `${lines.slice(0, 8).join(', ')}, …` : listed(lines.map(String));
  const summary = `${path}: ${said(change, places)} (line${lines.length === 1 ? '' : 's'} ${where}), in ${counted(edits.length, 'edit')}.`;
  if (now.lines.join('\n') !== replaceAt(text, planned)) {
    throw stopped(
      `${summary} But reading ${path} back shows something else than intended. Look at it before going on.`,
    );
  }
  return `${summary} I read it back: it is as intended.`;
}

function* writeFirst(text: string, path: string, room: Room): Script<string> {
  const result = yield* callTool(room, `${path} is empty: writing its first line.`, 'write_file', {
    path,
    content: `${text}\n`,
  });
  room.read.delete(path);
  return result;
}

function said(change: Change, places: number): string {
  switch (change.kind) {
    case 'replace':
      return change.to === ''
        ? `removed "${change.from}" ${times(places)}`
        : `replaced "${change.from}" with "${change.to}" ${times(places)}`;
    case 'title':
      return `changed the title to "${change.to}"`;
    case 'field':
      return `set ${change.name} to ${change.to}`;
    case 'append':
      return `added "${change.text}" at the end`;
  }
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** Where the text changes, or why it can't. */
function replacementsFor(change: Change, file: WholeFile, text: string): readonly Replacement[] | string {
  const planned = plan(change, file, text);
  if (typeof planned === 'string') return planned;
  const real = planned.filter(({ start, end, to }) => text.slice(start, end) !== to);
  return real.length > 0 ? real : `${file.path} says so already: there is nothing to change.`;
}

function plan(change: Change, file: WholeFile, text: string): readonly Replacement[] | string {
  switch (change.kind) {
    case 'replace':
      return planReplace(change, file, text);
    case 'title':
      return planTitle(change.to, file, text);
    case 'field':
      return planField(change, file, text);
    case 'append':
      return [{ start: text.length, end: text.length, to: `\n${change.text}` }];
  }
}

function planReplace(
  change: Extract<Change, { kind: 'replace' }>,
  file: WholeFile,
  text: string,
): readonly Replacement[] | string {
  const { from, to } = change;
  const all = occurrencesOf(text, from, change.wholeWord).map((start) => ({ start, end: start + from.length, to }));
  if (all.length > 0) return change.first ? all.slice(0, 1) : all;
  const otherCase = occurrencesOf(text.toLowerCase(), from.toLowerCase(), false).length;
  const parts = change.wholeWord ? occurrencesOf(text, from, false).length : 0;
  const hint =
    parts > 0
      ? ` It only occurs inside longer words (${times(parts)}).`
      : otherCase > 0
        ? ` It occurs ${times(otherCase)} in other upper and lower case; write it as the file does.`
        : '';
  return `"${from}" does not occur in ${file.path}, so nothing was changed.${hint}`;
}

function planTitle(to: string, file: WholeFile, text: string): readonly Replacement[] | string {
  const title = /(<title>)([\s\S]*?)(<\/title>)/i.exec(text);
  const found: Replacement[] = [];
  if (title !== null) {
    const [, open = '', old = ''] = title;
    found.push({ start: title.index + open.length, end: title.index + open.length + old.length, to: escapeHtml(to) });
    // A page usually repeats its title as its heading.
    const heading = [...text.matchAll(/(<h1[^>]*>)([\s\S]*?)(?=<\/h1>)/gi)].find(
      (one) => one[2]?.trim() === old.trim(),
    );
    if (heading !== undefined) {
      const start = heading.index + (heading[1]?.length ?? 0);
      found.push({ start, end: start + (heading[2]?.length ?? 0), to: escapeHtml(to) });
    }
    return found.sort((a, b) => a.start - b.start);
  }
  const heading = /^(#[ \t]+)(.*)$/m.exec(text);
  if (heading !== null && /\.(?:md|markdown|mdx)$/i.test(file.path)) {
    const start = heading.index + (heading[1]?.length ?? 0);
    return [{ start, end: start + (heading[2]?.length ?? 0), to }];
  }
  const field = planField({ kind: 'field', name: 'title', to }, file, text);
  return typeof field === 'string' ? `${file.path} has no title that I can find, so nothing was changed.` : field;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The field with the least indentation: a file's own `version` comes before one nested inside it. */
function planField(
  change: Extract<Change, { kind: 'field' }>,
  file: WholeFile,
  text: string,
): readonly Replacement[] | string {
  const name = literally(change.name);
  const json = /\.json[c5]?$/i.test(file.path);
  const pattern = json
    ? new RegExp(
        `^([ \\t]*(?:\\{[ \\t]*)?"${name}"[ \\t]*:[ \\t]*)("(?:[^"\\\\]|\\\\.)*"|-?[\\d.eE+-]+|true|false|null)`,
        'gm',
      )
    : new RegExp(`^([ \\t]*(?:export )?${name}[ \\t]*[:=][ \\t]*)([^#\\n]*?)(?=[ \\t]*(?:#.*)?$)`, 'gm');
  const fields = [...text.matchAll(pattern)];
  const indent = (match: RegExpExecArray): number => /^[ \t]*/.exec(match[0])?.[0].length ?? 0;
  const [best] = fields.sort((a, b) => indent(a) - indent(b) || a.index - b.index);
  if (best === undefined) return `${file.path} has no field "${change.name}", so nothing was changed.`;
  const [, before = '', old = ''] = best;
  const start = best.index + before.length;
  return [{ start, end: start + old.length, to: valueLike(old, change.to, json) }];
}

/** The new value in the way the old one was written: quoted where that was. */
function valueLike(old: string, to: string, json: boolean): string {
  if (json) return !old.startsWith('"') && /^(?:-?\d+(?:\.\d+)?|true|false|null)$/.test(to) ? to : JSON.stringify(to);
  const mark = /^(["']).*\1$/.exec(old)?.[1];
  return mark === undefined ? to : `${mark}${to}${mark}`;
}
