import { callTool, tryTools, type Observation, type Room, type Script, type WholeFile } from '../script.ts';
import { grouped } from '../language/words.ts';

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
  const known = room.read.get(path);
  if (known !== undefined) return known;
  const first = yield* callTool(room, `Reading ${path}.`, 'read_file', { path });
  return yield* readOn(room, path, first);
}

/** Reads several files, their first pages in one turn. What can't be read is left out and said in `failures`. */
export function* readSeveral(
  room: Room,
  paths: readonly string[],
  say: string,
): Script<{ readonly files: readonly WholeFile[]; readonly failures: readonly Observation[] }> {
  const missing = paths.filter((path) => !room.read.has(path));
  const results = yield* tryTools(
    room,
    say,
    missing.map((path) => ({ name: 'read_file', arguments: { path } })),
  );
  const files: WholeFile[] = [];
  for (const path of paths) {
    const known = room.read.get(path);
    const result = results[missing.indexOf(path)];
    if (known !== undefined) files.push(known);
    else if (result !== undefined && !result.isError) files.push(yield* readOn(room, path, result.text));
  }
  return { files, failures: results.filter((result) => result.isError) };
}

function* readOn(room: Room, path: string, firstText: string): Script<WholeFile> {
  let page = parsePage(firstText, 1);
  const image = /^.*: (image\/[\w.+-]+), /.exec(page.header)?.[1];
  const lines = [...page.lines];
  let pages = 1;
  while (page.next === lines.length + 1 && pages < MOST_PAGES) {
    const text = yield* callTool(
      room,
      `There is more of ${path}: reading on from line ${grouped(page.next)}.`,
      'read_file',
      {
        path,
        offset: page.next,
      },
    );
    page = parsePage(text, page.next);
    lines.push(...page.lines);
    pages += 1;
  }
  const notes = [
    ...(page.next === undefined ? [] : [`only the first ${grouped(lines.length)} lines of ${path} were read`]),
    ...(lines.some((line) => CUT.test(line)) ? [`${path} has lines that are too long to be read whole`] : []),
    ...(page.header.includes('decoded') ? [`${path} is not UTF-8, so some characters may be read wrongly`] : []),
  ];
  const file: WholeFile = {
    path,
    lines,
    ...(image !== undefined && { image }),
    ...(notes.length > 0 && { note: `Note: ${notes.join('; ')}.` }),
  };
  room.read.set(path, file);
  return file;
}
