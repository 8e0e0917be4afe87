import type { DescribeJob, ListJob, ListsJob, Reading } from '../jobs.ts';
import type { Clause } from '../language/clauses.ts';
import { folderPhrase, looksLikeFile, PATH } from '../language/folder.ts';
import { SUPERLATIVE, selectionPhrase, type Selection } from '../language/selection.ts';
import { meant, unmask } from '../language/quotes.ts';
import { counted, grouped, inWords } from '../language/words.ts';
import { searchScript } from './search.ts';
import { listSelection, type Listing } from '../reading/listing.ts';
import type { Finding, Room, Script } from '../script.ts';

const VERB =
  "(?:find(?: me)?|list(?: out)?|show(?: me)?|get|give me|display|name|print|locate|identify|tell me|look for|look up|pick(?: out)?|what are|which are|what is|which is|what's|see)";
const NAMES =
  '(?:(?:just |only )?(?:the |a |their )?(?:names?|paths?|list|listing|table)( and (?:the |their )?(?:file )?sizes?)?(?: in bytes)? (?:of|for) )';
const COUNTING = /^(?:count|how many|(?:what is |what's )?the number of|number of)\s+/i;

/** Reads requests for the files of a folder by size, age, kind or name. */
export function readList(clause: Clause, reading: Reading): ListJob | undefined {
  const { quotes } = clause;
  const there = reading.folder === undefined ? undefined : { folder: reading.folder };
  const counting = COUNTING.exec(clause.text);
  if (counting !== null) {
    const phrase = selectionPhrase(clause.text.slice(counting[0].length), quotes, there);
    if (phrase === undefined || phrase.selection.order !== undefined || phrase.selection.count !== undefined)
      return undefined;
    return { kind: 'list', selection: phrase.selection, sizes: false, countOnly: true };
  }
  const match = new RegExp(`^(${VERB} )?(${NAMES})?(.+)$`, 'i').exec(inverted(clause.text));
  if (match === null) return undefined;
  const [, verb, names, withSizes, rest = ''] = match;
  const phrase = selectionPhrase(rest, quotes, there);
  if (phrase === undefined) return namedFile(clause, reading);
  // `what is the file` asks for something else than a list of files.
  if (verb === undefined && names === undefined && !phrase.specific) return undefined;
  const selection = phrase.namesFolder
    ? phrase.selection
    : withFolder(phrase.selection, /\b(?:its|their)\b/i.test(rest) ? reading.folder : undefined);
  return { kind: 'list', selection, sizes: phrase.sizes || withSizes !== undefined, countOnly: false };
}

const PLACED = / (?:in|under|inside|within|of|from|below) .+$/i;
const BETWEEN_LISTS = new RegExp(`(?:,? and |, )(?=(?:the |its )?(?:\\S+ )?${SUPERLATIVE}\\b)`, 'i');

/**
 * Reads several lists at once. What is only said once belongs to all of them: the noun (`the two largest and the two
 * smallest files`), and the place, which is that of the next part that has one, or else of the one before.
 */
export function readLists(clause: Clause, reading: Reading): ListsJob | undefined {
  const [, verb = '', names = '', , rest = ''] =
    new RegExp(`^(${VERB} )?(${NAMES})?(.+)$`, 'i').exec(clause.text) ?? [];
  const parts = rest.split(BETWEEN_LISTS);
  if (parts.length < 2) return undefined;
  const tails = parts.map((part) => new RegExp(`${SUPERLATIVE}(?= |$)(.*)$`, 'i').exec(part)?.[1] ?? '');
  const places = tails.map((tail) => PLACED.exec(tail)?.[0]);
  const nouns = tails.map((tail) => tail.replace(PLACED, ''));
  const lists: ListJob[] = [];
  for (const [i, part] of parts.entries()) {
    const noun =
      nouns[i] === '' ? (nouns.slice(i + 1).find((one) => one !== '') ?? nouns.find((one) => one !== '')) : '';
    const place = places[i] ?? places.slice(i + 1).find(isPlace) ?? places.slice(0, i).findLast(isPlace) ?? '';
    const text = `${verb}${names}${part.replace(PLACED, '')}${noun ?? ''}${place}`;
    const list = readList({ text, quotes: clause.quotes }, reading);
    if (list?.selection.order === undefined) return undefined;
    lists.push(list);
  }
  return { kind: 'lists', lists };
}

function isPlace(place: string | undefined): place is string {
  return place !== undefined;
}

function withFolder(selection: Selection, folder: string | undefined): Selection {
  return folder === undefined ? selection : { ...selection, folder };
}

/** `which files are the largest in src` → `the largest files in src`. */
function inverted(text: string): string {
  const question = new RegExp(
    `^(?:which|what) (.*?)(files?|file names)\\b(.*?) (?:is|are) (?:the )?(${SUPERLATIVE})( .*)?$`,
    'i',
  ).exec(text);
  if (question !== null) {
    const [, kinds = '', noun = '', place = '', order = '', rest = ''] = question;
    return `the ${/^(?:\d|one|two|three|four|five|six|seven|eight|nine|ten)/i.test(kinds) ? kinds.replace(/^(\S+) /, `$1 ${order} `) : `${order} ${kinds}`}${noun}${place}${rest}`;
  }
  return text.replace(
    /^(?:which|what) (?=(?:\S+ ){0,3}files? (?:are|is|do|exist|end|named|called|match|ha(?:ve|s) \S+ in (?:their|its|the) (?:file )?names?$))/i,
    'list ',
  );
}

/** A pattern of names, as in `find *.json`. */
const GLOB = '[^\\s\uE000]*[*?][^\\s\uE000]*';

/** `where is sales.csv`, `find the file sales.csv`: a name without quotes that looks like a file's. */
function namedFile(clause: Clause, reading: Reading): ListJob | undefined {
  const match = new RegExp(
    `^(?:where is|where are|where's|find|locate|look for|search for|is there|list|show(?: me)?) (?:all |a |the )*(?:files? (?:called |named )?)?(${PATH}|${GLOB})(?: files?)?(?: (?:in|under|inside|within) (.+))?$`,
    'iu',
  ).exec(clause.text);
  if (match === null) return undefined;
  const name = meant(match[1] ?? '', clause.quotes);
  const quoted = name !== unmask(match[1] ?? '', clause.quotes);
  const explicit = /\bfile\b/i.test(clause.text);
  const lists = /^(?:list|show)\b/i.test(clause.text);
  if (lists && !/[*?]/.test(name)) return undefined;
  // A quoted name may be a text too: then it is looked for where no file is called so.
  const perhaps = quoted && !explicit && looksLikeFile(name) && /^where\b/i.test(clause.text);
  if (quoted ? !explicit && !perhaps : !looksLikeFile(name) && !/[*?]/.test(name)) return undefined;
  const there = reading.folder === undefined ? undefined : { folder: reading.folder };
  const folder = match[2] === undefined ? '.' : folderPhrase(match[2], clause.quotes, there);
  if (folder === undefined) return undefined;
  return {
    kind: 'list',
    selection: { folder, kinds: [], also: [{ label: `named ${name}`, glob: name }] },
    sizes: true,
    countOnly: false,
    ...(perhaps && { orText: name }),
  };
}

const WHAT_IS_IN =
  /^(?:what(?:'s| is| are)?(?: there)?(?: (?:the )?(?:contents?|structure|layout|purpose|point))?(?: exactly)?|what (?:files|folders|things|documents|stuff)(?: (?:and|or) (?:files|folders|documents))?(?: are| exist| do (?:i|we|you) have| can you see)?(?: there)?|what do (?:i|we|you) (?:have|see)) (?:in|inside|under|of) (.+)$/i;
const WHAT_IS =
  /^(?:what(?:'s| is)|what kind of (?:project|thing|code|repository) is|what does|what) (.+?)(?: (?:is about|is|does|contains|holds|about|for|do|contain|hold|made of|like|doing))?(?: here)?$/i;
const WHAT_HERE =
  /^(?:what(?:'s| is)|what (?:files|folders) are|what do (?:i|we|you) (?:have|see))(?: there)? (?:here|around)$|^(?:ls|dir|look around|have a look around|where am i)$/i;
const DESCRIBE =
  /^(?:describe|explain|summari[sz]e|explore|inspect|survey|analy[sz]e|examine|review|look (?:at|around(?: in)?|through|into|inside)|take a look (?:at|around(?: in)?)|have a look (?:at|around(?: in)?)|(?:give me |write )?(?:an? |the )?(?:short |brief |quick )?(?:overview|summary|description) of|tell me (?:more )?about|check out|introduce(?: me to)?|get to know|list|ls|show(?: me)?|browse|walk (?:me )?through)(?: (?:the |all |all the |everything |whatever is )?(?:contents?|entries|files and folders|folders and files|structure|layout|things|what's|what is|in)(?: (?:of|in|inside|under))*)? (.+)$/i;

/** Reads requests to say what a folder or project is. */
export function readDescribe(clause: Clause, reading: Reading): DescribeJob | undefined {
  if (WHAT_HERE.test(clause.text)) return { kind: 'describe', folder: '.' };
  const asked = WHAT_IS_IN.exec(clause.text)?.[1] ?? DESCRIBE.exec(clause.text)?.[1];
  const there = reading.folder === undefined ? undefined : { folder: reading.folder };
  const about = (phrase: string): DescribeJob | undefined => {
    const folder = folderPhrase(
      phrase.replace(/ (?:is )?(?:about|contains?|holds?|and what it (?:is|does))$/i, ''),
      clause.quotes,
      there,
    );
    return folder === undefined || looksLikeFile(folder) ? undefined : { kind: 'describe', folder };
  };
  if (asked !== undefined) return about(asked);
  const thing = WHAT_IS.exec(clause.text)?.[1];
  // `what is love` is no question about a folder: here the words must name one.
  return thing !== undefined &&
    /\b(?:folder|directory|project|repo|repository|workspace|codebase|package)\b|\/$/i.test(thing)
    ? about(thing)
    : undefined;
}

const SHOWN = 50;

/** Lists what was asked for, in the order asked for. */
export function* listScript(job: ListJob, room: Room): Script<Finding> {
  const listing = yield* listSelection(room, job.selection);
  const { files } = listing;
  if (files.length === 0 && job.orText !== undefined) {
    const { folder } = job.selection;
    return yield* searchScript({ kind: 'search', text: job.orText, folder, caseSensitive: false, want: 'lines' }, room);
  }
  const phrase = selectionInWords(job.selection, files.length);
  const sizes = job.sizes || job.selection.order === 'largest' || job.selection.order === 'smallest';
  const items = files.map(({ path, bytes }) => ({
    path,
    text: path,
    ...(job.sizes && bytes !== undefined && { bytes }),
  }));
  if (job.countOnly || files.length === 0) {
    const some = files.length === 0 ? 'no files' : phrase;
    const text = `There ${files.length === 1 ? 'is' : 'are'} ${files.length === 0 ? selectionInWords(job.selection, 0) : some}.`;
    return {
      text: withNote(text, listing),
      files,
      items: job.countOnly ? [{ text }] : items,
      ...(job.countOnly && { rows: [{ files: files.length }] }),
    };
  }
  const lines = files
    .slice(0, SHOWN)
    .map(({ path, bytes }) => `- ${path}${sizes && bytes !== undefined ? ` (${counted(bytes, 'byte')})` : ''}`);
  if (files.length > SHOWN) lines.push(`- … and ${grouped(files.length - SHOWN)} more`);
  return { text: withNote(`${capital(phrase)}:\n${lines.join('\n')}`, listing), files, items };
}

/** One list after the other. What they found counts as one: a file that is in two of them is there once. */
export function* listsScript(job: ListsJob, room: Room): Script<Finding> {
  const found: Finding[] = [];
  for (const list of job.lists) found.push(yield* listScript(list, room));
  const files = found.flatMap((finding) => finding.files);
  return {
    text: found.map((finding) => finding.text).join('\n\n'),
    files: files.filter((file, i) => files.findIndex((one) => one.path === file.path) === i),
    items: found.flatMap((finding) => finding.items),
  };
}

function withNote(text: string, listing: Listing): string {
  return listing.note === undefined ? text : `${text}\n${listing.note}`;
}

/** `the three largest TypeScript files in src`. */
export function selectionInWords(selection: Selection, found: number): string {
  const kinds = selection.kinds.map((kind) => kind.label).join(' or ');
  const before = selection.also.flatMap((kind) => (kind.glob === undefined ? [kind.label] : [])).join(' ');
  const after = selection.also.flatMap((kind) => (kind.glob === undefined ? [] : [` ${kind.label}`])).join('');
  const noun = `${[kinds, before].filter((word) => word !== '').join(' ')} file${found === 1 ? '' : 's'}`.trimStart();
  const place = selection.folder === '.' ? 'this folder' : selection.folder;
  if (selection.order === undefined || found === 0)
    return `${found === 0 ? 'no' : grouped(found)} ${noun}${after} in ${place}`;
  // Fewer than were asked for are all there are.
  if (selection.count !== undefined && found < selection.count)
    return `only ${inWords(found)} ${noun}${after} in ${place}, ${selection.order} first`;
  return `the ${found === 1 ? '' : `${inWords(found)} `}${selection.order} ${noun}${after} in ${place}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
