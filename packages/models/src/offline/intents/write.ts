import type { CreateJob } from '../jobs.ts';
import { counted } from '../language/words.ts';
import { readWhole } from '../reading/file.ts';
import {
  callTool,
  failureText,
  JobStopped,
  tryTool,
  type Finding,
  type Item,
  type Room,
  type Row,
  type Script,
} from '../script.ts';
import { dataScript } from './data.ts';

/** Gathers the content, writes the file, and reads it back. */
export function* createScript(job: CreateJob, room: Room): Script<Finding> {
  const { content, path } = job;
  let found: Finding | undefined;
  if (content.from === 'job') found = yield* dataScript(content.job, room);
  else if (content.from === 'earlier') found = latest(room);
  const text = content.from === 'text' ? literal(job, content.text) : rendered(job, found);
  const said = yield* writeFile(room, path, text);
  room.read.delete(path);
  const check = yield* verify(room, path, text);
  const facts = found === undefined || found.items.length === 0 ? '' : `\n${preview(found.items)}`;
  return {
    text: `${firstLine(said)} ${check}${facts}`,
    files: [{ path }],
    items: found?.items ?? text.split('\n').map((line) => ({ text: line })),
    body: text,
  };
}

/** Writes the file; one that is there already is read first, where the tool wants that. */
function* writeFile(room: Room, path: string, content: string): Script<string> {
  const call = { path, content };
  const first = yield* tryTool(room, `Writing ${path}.`, 'write_file', call);
  if (!first.isError) return first.text;
  if (!WANTS_READING.test(first.text)) throw new JobStopped(failureText(first));
  yield* callTool(room, `${path} exists: reading it first.`, 'read_file', { path });
  return yield* callTool(room, `Writing ${path} now.`, 'write_file', call);
}

const WANTS_READING = /\bRead it (?:first|again) with read_file\b/;

function latest(room: Room): Finding {
  const found = room.findings.at(-1);
  if (found === undefined)
    throw new JobStopped('I found nothing before that could be written. Say what the file should hold.');
  return found;
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

/** Reads the file back: only what is there counts. */
function* verify(room: Room, path: string, text: string): Script<string> {
  if (!room.tools.has('read_file')) return 'I could not read it back, as I have no `read_file` tool.';
  const file = yield* readWhole(room, path);
  const expected = linesOf(text);
  if (
    file.note === undefined &&
    file.lines.length === expected.length &&
    file.lines.every((line, i) => line === expected[i])
  ) {
    return `I read it back: ${counted(expected.length, 'line')}, as intended.`;
  }
  if (file.note !== undefined || CONTROL.test(text))
    return `I read it back: ${counted(file.lines.length, 'line')}, but could not compare all of it.`;
  throw new JobStopped(
    `I wrote ${path}, but reading it back gives something else: ${counted(file.lines.length, 'line')} where ${expected.length} should be, or other words.`,
  );
}

/** Characters that the tools show as pictures, so that they can't be compared. */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Surrogate}/u;

function linesOf(text: string): readonly string[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

const PREVIEW = 10;

function preview(items: readonly Item[]): string {
  const rest = items.length - PREVIEW;
  return [
    ...items.slice(0, PREVIEW).map((item) => `- ${sized(item)}`),
    ...(rest > 0 ? [`- … and ${rest} more`] : []),
  ].join('\n');
}

function sized(item: Item): string {
  return item.bytes === undefined ? item.text : `${item.text} (${counted(item.bytes, 'byte')})`;
}

function extensionOf(path: string): string {
  return /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
}

/** A given text is written as it is, but for a page, which needs its frame. */
function literal(job: CreateJob, text: string): string {
  // A text that is a page by itself needs no frame.
  const whole = isPage(job.path) && /^\s*<(?:!doctype|html)\b/i.test(text);
  if (isPage(job.path) && !whole && (job.title !== undefined || job.page === true))
    return page(job.title ?? nameOf(job.path), paragraphs(text));
  if (job.title === undefined) return text;
  return whole ? text : `${heading(job, job.title)}${text}\n`;
}

function isPage(path: string): boolean {
  return /^html?$/.test(extensionOf(path));
}

function heading(job: CreateJob, title: string): string {
  return /^(?:md|markdown)$/.test(extensionOf(job.path)) ? `# ${title}\n\n` : `${title}\n\n`;
}

function rendered(job: CreateJob, found: Finding | undefined): string {
  const extension = extensionOf(job.path);
  if (isPage(job.path)) return page(job.title ?? nameOf(job.path), found === undefined ? '' : pageBody(found));
  const title = job.title === undefined || ['json', 'csv'].includes(extension) ? '' : heading(job, job.title);
  if (found === undefined) return title;
  if (found.body !== undefined) return title + found.body;
  if (found.rows !== undefined && extension === 'csv') return rowsAsCsv(found.rows);
  if (found.rows !== undefined && extension === 'json') return rowsAsJson(found.rows);
  return title + itemsAs(extension, found.items);
}

function itemsAs(extension: string, items: readonly Item[]): string {
  const withSizes = items.some((item) => item.bytes !== undefined);
  if (extension === 'json') {
    const values = items.map((item) => (item.bytes === undefined ? item.text : { path: item.text, bytes: item.bytes }));
    return `${JSON.stringify(values, null, 2)}\n`;
  }
  if (extension === 'csv') {
    const header = items.some((item) => item.path !== undefined) ? (withSizes ? 'path,bytes\n' : 'path\n') : '';
    return (
      header +
      items.map((item) => `${csvCell(item.text)}${item.bytes === undefined ? '' : `,${item.bytes}`}\n`).join('')
    );
  }
  const bullet = /^(?:md|markdown)$/.test(extension) ? '- ' : '';
  return items.map((item) => `${bullet}${sized(item)}\n`).join('');
}

function rowsAsCsv(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? '')))];
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\n`).join('');
}

/** One row is an object, several are an array of them. */
function rowsAsJson(rows: readonly Row[]): string {
  return `${JSON.stringify(rows.length === 1 ? rows[0] : rows, null, 2)}\n`;
}

function csvCell(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function nameOf(path: string): string {
  const name = path
    .slice(path.lastIndexOf('/') + 1)
    .replace(/\.[^.]*$/, '')
    .replace(/[-_]+/g, ' ');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function pageBody(found: Finding): string {
  if (found.body !== undefined) return `<pre>${escapeHtml(found.body)}</pre>\n`;
  return `<ul>\n${found.items.map((item) => `  <li>${escapeHtml(sized(item))}</li>\n`).join('')}</ul>\n`;
}

function paragraphs(text: string): string {
  // A text with tags of its own is the page's body as it stands.
  if (/<[a-z][^>]*>/i.test(text)) return `${text}\n`;
  return text
    .split(/\n\s*\n/)
    .map((part) => `<p>${escapeHtml(part.trim())}</p>\n`)
    .join('');
}

function page(title: string, body: string): string {
  const name = escapeHtml(title);
  const head = `<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>${name}</title>\n</head>`;
  return `<!doctype html>\n<html lang="en">\n${head}\n<body>\n<h1>${name}</h1>\n${body}</body>\n</html>\n`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
