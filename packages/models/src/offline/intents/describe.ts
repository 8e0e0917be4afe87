import { isJsonObject, type JsonObject, parseJson } from '@treadle/core';
import { firstParagraph, headingsOf } from '../data/text.ts';
import type { DescribeJob } from '../jobs.ts';
import { counted, grouped, listed } from '../language/words.ts';
import { readSeveral } from '../reading/file.ts';
import { parseListing, placeName, type ListedFolder } from '../reading/listing.ts';
import {
  failureText,
  JobStopped,
  tryTools,
  type FileFact,
  type Finding,
  type Room,
  type Script,
  type WholeFile,
} from '../script.ts';

/** What tells most about a folder, best first. */
const TELLING = [/^readme(?:\.\w+)?$/i, /^package\.json$/, /^(?:pyproject\.toml|cargo\.toml|go\.mod)$/i];
const SHOWN = 30;

/** Lists a folder, reads its README and package.json if it has them, and says what is in it. */
export function* describeScript(job: DescribeJob, room: Room): Script<Finding> {
  const { folder } = job;
  const [top, all] = yield* tryTools(room, `Looking at ${placeName(folder)}.`, [
    { name: 'list_files', arguments: { path: folder, max_depth: 1, limit: 1000 } },
    { name: 'list_files', arguments: { path: folder, max_depth: 30, sort: 'size', limit: 2000 } },
  ]);
  if (top === undefined || top.isError)
    throw new JobStopped(top === undefined ? 'The listing has no result.' : failureText(top));
  const direct = parseListing(top.text);
  const tree = all === undefined || all.isError ? undefined : parseListing(all.text);
  const paths = TELLING.flatMap((pattern) => direct.files.find((file) => pattern.test(nameOf(file.path)))?.path ?? []);
  const { files } = yield* readSeveral(room, room.tools.has('read_file') ? paths : [], `Reading ${listed(paths)}.`);
  const entries = [
    ...direct.folders.map((path) => ({ path: `${path}/`, text: `${path}/` })),
    ...direct.files.map((file) => ({ ...file, text: file.path })),
  ];
  const parts = [
    opening(folder, direct, tree, files),
    ...files.flatMap(aboutFile),
    contents(direct, tree),
    ...remarks(direct, tree),
  ];
  return { text: parts.filter((part) => part !== '').join('\n'), files: tree?.files ?? direct.files, items: entries };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function opening(
  folder: string,
  direct: ListedFolder,
  tree: ListedFolder | undefined,
  files: readonly WholeFile[],
): string {
  const title = files.flatMap((file) => (/readme/i.test(file.path) ? (headingsOf(file.lines)[0]?.text ?? []) : []))[0];
  const name = title ?? packageName(files);
  const subject = `${folder === '.' ? 'This folder' : folder}${name === undefined ? '' : ` ("${name}")`}`;
  if (tree === undefined)
    return `${subject} has ${counted(direct.folders.length, 'folder')} and ${counted(direct.files.length, 'file')} at its top.`;
  const bytes = tree.files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const [largest] = tree.files;
  if (largest === undefined)
    return `${subject} holds no files${direct.folders.length === 0 ? '' : `, only ${counted(direct.folders.length, 'folder')}`}.`;
  const least = tree.cut ? 'at least ' : '';
  return `${subject} holds ${least}${counted(tree.files.length, 'file')} (${least}${counted(bytes, 'byte')}): ${kinds(tree.files)}. The largest is ${largest.path} (${counted(largest.bytes ?? 0, 'byte')}).`;
}

function packageName(files: readonly WholeFile[]): string | undefined {
  const name = packageJson(files)?.['name'];
  return typeof name === 'string' ? name : undefined;
}

function packageJson(files: readonly WholeFile[]): JsonObject | undefined {
  const file = files.find((one) => nameOf(one.path) === 'package.json');
  if (file === undefined) return undefined;
  try {
    const value = parseJson(file.lines.join('\n'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    // A broken package.json is still a file of the folder; there's just nothing to say about it.
    return undefined;
  }
}

function kinds(files: readonly FileFact[]): string {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const extension = /[^.]\.([A-Za-z0-9]{1,10})$/.exec(nameOf(path))?.[1]?.toLowerCase();
    const kind = extension === undefined ? 'without an extension' : `.${extension}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const shown = sorted.slice(0, 5).map(([kind, count]) => `${grouped(count)} ${kind}`);
  const others = sorted.slice(5).reduce((sum, [, count]) => sum + count, 0);
  return listed([...shown, ...(others > 0 ? [`${grouped(others)} of other kinds`] : [])]);
}

function aboutFile(file: WholeFile): readonly string[] {
  const name = nameOf(file.path);
  if (/^readme/i.test(name)) {
    const prose = firstParagraph(file.lines);
    return prose === '' ? [] : [`${file.path} says: ${prose.length > 400 ? `${prose.slice(0, 400)}…` : prose}`];
  }
  const json = name === 'package.json' ? packageJson([file]) : undefined;
  if (json === undefined) return [];
  const text = (key: string): string | undefined => (typeof json[key] === 'string' ? json[key] : undefined);
  const keys = (key: string): readonly string[] => (isJsonObject(json[key]) ? Object.keys(json[key]) : []);
  const facts = [
    text('name') === undefined
      ? undefined
      : `name ${text('name') ?? ''}${text('version') === undefined ? '' : ` ${text('version') ?? ''}`}`,
    text('description') === undefined ? undefined : `description "${text('description') ?? ''}"`,
    Array.isArray(json['workspaces']) ? `workspaces ${json['workspaces'].map(String).join(', ')}` : undefined,
    keys('scripts').length === 0 ? undefined : `scripts ${keys('scripts').join(', ')}`,
    keys('dependencies').length === 0 ? undefined : counted(keys('dependencies').length, 'dependency', 'dependencies'),
    keys('devDependencies').length === 0
      ? undefined
      : counted(keys('devDependencies').length, 'development dependency', 'development dependencies'),
  ].filter((fact) => fact !== undefined);
  return facts.length === 0 ? [] : [`${file.path}: ${facts.join('; ')}.`];
}

function contents(direct: ListedFolder, tree: ListedFolder | undefined): string {
  const folders = direct.folders.map((path) => {
    const inside = tree?.files.filter((file) => file.path.startsWith(`${path}/`)).length;
    return `- ${path}/${inside === undefined || tree?.cut === true ? '' : ` (${counted(inside, 'file')})`}`;
  });
  const files = direct.files.map((file) => `- ${file.path} (${counted(file.bytes ?? 0, 'byte')})`);
  const lines = [...folders, ...files, ...direct.others.map((path) => `- ${path}`)];
  const rest = lines.length - SHOWN;
  return [...lines.slice(0, SHOWN), ...(rest > 0 ? [`- … and ${grouped(rest)} more`] : [])].join('\n');
}

function remarks(direct: ListedFolder, tree: ListedFolder | undefined): readonly string[] {
  const skipped = [...new Set([...direct.skipped, ...(tree?.skipped ?? [])])];
  const incomplete = tree?.incomplete ?? [];
  return [
    ...(skipped.length > 0 ? [`Not looked into: ${skipped.join(', ')}.`] : []),
    ...(tree === undefined ? ['The folders below could not be listed.'] : []),
    ...(incomplete.length > 0 ? [`Note: ${incomplete.join('; ')}.`] : []),
  ];
}
