import { grouped, listed } from '../language/words.ts';
import {
  failureText,
  JobStopped,
  tryTools,
  type Observation,
  type Room,
  type Script,
  type WholeFile,
} from '../script.ts';

interface Page {
  readonly header: string;
  readonly lines: readonly string[];
  /** The line to go on with. */
  readonly next?: number;
}

const LINE = /^\s*(\d+)\t(.*)$/;
const MORE = /^\[more lines follow: continue with offset (\d+)\]$/;
const CUT = /… \[line cut: \d+ characters\]$/;
const MOST_PAGES = 40;

/** Reads one result of `read_file`: a header, numbered lines, and whether there is more. */
function parsePage(text: string, offset: number): Page {
  const [header = '', ...rest] = text.split('\n');
  const lines: string[] = [];
  let next: number | undefined;
  for (const line of rest) {
    const [, number, content] = LINE.exec(line) ?? [];
    if (content !== undefined && Number(number) === offset + lines.length) lines.push(content);
    else next = Number(MORE.exec(line)?.[1] ?? next);
  }
  return { header, lines, ...(next !== undefined && !Number.isNaN(next) && { next }) };
}

/** Reads a file to its end, page by page. A file that was read before in this request isn't read again. */
export function* readWhole(room: Room, path: string): Script<WholeFile> {
  const { files, failures } = yield* readSeveral(room, [path], `Reading ${path}.`);
  const [file] = files;
  if (file === undefined)
    throw new JobStopped(failures[0] === undefined ? `${path} has no result.` : failureText(failures[0]));
  return file;
}

interface Reading {
  readonly path: string;
  readonly lines: string[];
  page: Page;
  pages: number;
}

/**
 * Reads several files, page by page, all of them in the same turns. What can't be read is left out and said in
 * `failures`; a file of which a later page can't be read ends the job.
 */
export function* readSeveral(
  room: Room,
  paths: readonly string[],
  say: string,
): Script<{ readonly files: readonly WholeFile[]; readonly failures: readonly Observation[] }> {
  const missing = [...new Set(paths)].filter((path) => !room.read.has(path));
  const results = yield* tryTools(
    room,
    say,
    missing.map((path) => ({ name: 'read_file', arguments: { path } })),
  );
  const begun = missing.flatMap((path, i): Reading[] => {
    const result = results[i];
    if (result === undefined || result.isError) return [];
    const page = parsePage(result.text, 1);
    return [{ path, lines: [...page.lines], page, pages: 1 }];
  });
  for (let open = begun.filter(goesOn); open.length > 0; open = open.filter(goesOn)) yield* readNextPages(room, open);
  for (const reading of begun) room.read.set(reading.path, wholeFile(reading));
  return {
    files: paths.flatMap((path) => room.read.get(path) ?? []),
    failures: results.filter((result) => result.isError),
  };
}

function goesOn({ page, lines, pages }: Reading): boolean {
  return page.next === lines.length + 1 && pages < MOST_PAGES;
}

function* readNextPages(room: Room, open: readonly Reading[]): Script<void> {
  const where = open.map(({ path, lines }) => `${path}: reading on from line ${grouped(lines.length + 1)}`);
  const results = yield* tryTools(
    room,
    `There is more of ${listed(where.slice(0, 5))}.`,
    open.map(({ path, lines }) => ({ name: 'read_file', arguments: { path, offset: lines.length + 1 } })),
  );
  for (const [i, reading] of open.entries()) {
    const result = results[i];
    if (result === undefined || result.isError)
      throw new JobStopped(result === undefined ? `${reading.path} has no result.` : failureText(result));
    reading.page = parsePage(result.text, reading.lines.length + 1);
    reading.lines.push(...reading.page.lines);
    reading.pages += 1;
  }
}

/** The lines don't show whether the last one is ended, but the number of bytes in the header does. */
function endsItsLastLine(header: string, lines: readonly string[]): boolean {
  const bytes = Number(/, ([\d,]+) bytes?\b/.exec(header)?.[1]?.replaceAll(',', ''));
  const own = lines.reduce((sum, line) => sum + new TextEncoder().encode(line).length, 0);
  return bytes === own + lines.length || (lines.length > 0 && bytes === own + 2 * lines.length);
}

function wholeFile({ path, lines, page, pages }: Reading): WholeFile {
  const image = /^.*: (image\/[\w.+-]+), /.exec(page.header)?.[1];
  const notes = [
    ...(page.next === undefined ? [] : [`only the first ${grouped(lines.length)} lines of ${path} were read`]),
    ...(lines.some((line) => CUT.test(line)) ? [`${path} has lines that are too long to be read whole`] : []),
    ...(page.header.includes('decoded') ? [`${path} is not UTF-8, so some characters may be read wrongly`] : []),
  ];
  return {
    path,
    lines,
    pages,
    ended: endsItsLastLine(page.header, lines),
    ...(image !== undefined && { image }),
    ...(notes.length > 0 && { note: `Note: ${notes.join('; ')}.` }),
  };
}
