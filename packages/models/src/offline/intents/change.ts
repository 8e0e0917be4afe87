import { editsFor, occurrencesOf, replaceAt, type Replacement } from '../data/edits.ts';
import type { Change, EditJob } from '../jobs.ts';
import { globOf } from '../language/selection.ts';
import { counted, listed } from '../language/words.ts';
import { readSeveral } from '../reading/file.ts';
import { placeName } from '../reading/listing.ts';
import { literally, parseMatches } from '../reading/matches.ts';
import {
  callTool,
  failureText,
  JobStopped,
  tryTools,
  type FileFact,
  type Finding,
  type Observation,
  type Room,
  type Script,
  type ToolRequest,
  type WholeFile,
} from '../script.ts';
import { MOST_FILES, resolveTarget } from './target.ts';

/** What is to be done in one file. */
interface Plan {
  readonly path: string;
  readonly after: string;
  /** What the answer says of it. */
  readonly summary: string;
  readonly calls: readonly ToolRequest[];
}

/** A file that takes more results to read is too long to be read, changed and read back in one run. */
const MOST_PAGES = 15;
/** So many calls are made in one turn. */
const MOST_CALLS = 100;

/**
 * Finds the files, reads them all, plans all the edits, makes them in one turn, and reads everything back. Nothing is
 * changed before all of it is known to be possible.
 */
export function* editScript(job: EditJob, room: Room): Script<Finding> {
  const targets = yield* filesOf(job, room);
  const paths = targets.map((target) => target.path);
  const { files, failures } = yield* readSeveral(room, paths, `Reading ${listed(paths)}.`);
  if (failures[0] !== undefined)
    throw new JobStopped(`${failureText(failures[0])}${targets.length > 1 ? ' Nothing was changed.' : ''}`);
  const plans: Plan[] = [];
  const unchanged: string[] = [];
  for (const file of files) {
    const planned = planFor(job.change, file);
    if (typeof planned !== 'string') plans.push(planned);
    else if (targets.length > 1 && job.change.kind === 'replace') unchanged.push(planned);
    else throw new JobStopped(targets.length > 1 ? `${planned} Nothing was changed.` : planned);
  }
  if (plans.length === 0) throw new JobStopped(unchanged.join('\n'));
  const calls = plans.flatMap((plan) => plan.calls);
  if (calls.length > MOST_CALLS)
    throw new JobStopped(
      `That takes ${calls.length} edits in ${counted(plans.length, 'file')}; I make at most ${MOST_CALLS} in one go. Nothing was changed. Name a smaller folder, or fewer files.`,
    );
  const done = yield* carryOut(plans, calls, room);
  return {
    text: [...done, ...unchanged].join('\n'),
    files: plans.map(({ path }) => ({ path })),
    items: done.map((text) => ({ text })),
  };
}

function* carryOut(plans: readonly Plan[], calls: readonly ToolRequest[], room: Room): Script<readonly string[]> {
  const paths = plans.map((plan) => plan.path);
  const say = `Changing ${listed(paths)}${calls.length === 1 ? '' : `: ${calls.length} edits`}.`;
  const results = yield* tryTools(room, say, calls);
  for (const path of paths) room.read.delete(path);
  const failed = results.find((result) => result.isError);
  if (failed !== undefined) throw new JobStopped([failureText(failed), ...inPart(plans, results)].join('\n'));
  const { files: now, failures } = yield* readSeveral(room, paths, `Reading ${listed(paths)} back.`);
  const done = plans.map((plan) => ({ plan, now: now.find((file) => file.path === plan.path)?.lines.join('\n') }));
  const wrong = done.filter(({ plan, now }) => now !== plan.after);
  const right = done.flatMap(({ plan, now }) =>
    now === plan.after ? [`${plan.summary} I read it back: it is as intended.`] : [],
  );
  if (wrong.length === 0) return right;
  throw new JobStopped(
    [
      ...right,
      ...wrong.map(({ plan, now }) =>
        now === undefined
          ? `${plan.summary} But I could not read ${plan.path} back.`
          : `${plan.summary} But reading ${plan.path} back shows something else than intended. Look at it before going on.`,
      ),
      ...failures.map((failure) => failureText(failure)),
    ].join('\n'),
  );
}

/** How far each file got when some call failed. */
function inPart(plans: readonly Plan[], results: readonly Observation[]): readonly string[] {
  let at = 0;
  return plans.flatMap((plan) => {
    const own = results.slice(at, (at += plan.calls.length));
    const made = own.filter((result) => !result.isError).length;
    if (made === 0) return [];
    return made === own.length
      ? [plan.summary]
      : [`${plan.path} is changed in part: ${made} of ${own.length} edits were made.`];
  });
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

/** The edits of one file, or why there are none. */
function planFor(change: Change, file: WholeFile): Plan | string {
  const { path } = file;
  if (file.image !== undefined) return `${path} is an image; I can only change text.`;
  if (file.note !== undefined)
    return `I left ${path} as it is, because I could not read all of it exactly. ${file.note}`;
  if (file.pages > MOST_PAGES)
    return `I left ${path} as it is: it is too long to be read, changed and read back in one go.`;
  const text = file.lines.join('\n');
  if (change.kind === 'append' && text === '') return planFirst(change.text, path);
  const planned = replacementsFor(change, file, text);
  if (typeof planned === 'string') return planned;
  const edits = editsFor(text, planned);
  const lines = [...new Set(planned.map(({ start }) => text.slice(0, start).split('\n').length))];
  const where = lines.length > 8 ? `${lines.slice(0, 8).join(', ')}, …` : listed(lines.map(String));
  return {
    path,
    after: replaceAt(text, planned),
    summary: `${path}: ${said(change, planned.length)} (line${lines.length === 1 ? '' : 's'} ${where}), in ${counted(edits.length, 'edit')}.`,
    calls: edits.map(({ oldText, newText }) => ({
      name: 'edit_file',
      arguments: { path, old_text: oldText, new_text: newText },
    })),
  };
}

/** An empty file has nothing that an edit could hold on to. */
function planFirst(text: string, path: string): Plan {
  return {
    path,
    after: text,
    summary: `${path}: wrote "${text}" as its first line.`,
    calls: [{ name: 'write_file', arguments: { path, content: `${text}\n` } }],
  };
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
