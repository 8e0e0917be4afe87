import { COUNT, countOf } from './words.ts';
import { IN, PATH, folderPhrase, type Place } from './folder.ts';
import { QUOTE, meant, type Quote } from './quotes.ts';

export type FileOrder = 'largest' | 'smallest' | 'newest' | 'oldest';

/** A kind of file: by extension, by name pattern, or both. */
export interface FileKind {
  /** As said in an answer: `TypeScript`, `matching *.md`. */
  readonly label: string;
  readonly extensions?: readonly string[];
  /** A glob over the name, or over the whole path when it has a slash. */
  readonly glob?: string;
  readonly tests?: boolean;
}

/** Which files of a folder are meant. Without `order` all of them, by path. */
export interface Selection {
  readonly folder: string;
  /** A file is of one of these kinds; with none, of any. */
  readonly kinds: readonly FileKind[];
  /** And of all of these. */
  readonly also: readonly FileKind[];
  readonly order?: FileOrder;
  readonly count?: number;
}

const CODE =
  'ts tsx mts cts js jsx mjs cjs py rs go java kt kts c h cc cpp hpp cs rb php swift scala sh bash lua sql vue svelte'.split(
    ' ',
  );

const KINDS: readonly (readonly [RegExp, string, readonly string[]])[] = [
  [/^typescript$/i, 'TypeScript', ['ts', 'tsx', 'mts', 'cts']],
  [/^javascript$/i, 'JavaScript', ['js', 'jsx', 'mjs', 'cjs']],
  [/^(?:source(?: code)?|code|program)$/i, 'source', CODE],
  [/^(?:markdown|md)$/i, 'Markdown', ['md', 'markdown', 'mdx']],
  [/^python$/i, 'Python', ['py']],
  [/^rust$/i, 'Rust', ['rs']],
  [/^(?:go|golang)$/i, 'Go', ['go']],
  [/^java$/i, 'Java', ['java']],
  [/^kotlin$/i, 'Kotlin', ['kt', 'kts']],
  [/^ruby$/i, 'Ruby', ['rb']],
  [/^php$/i, 'PHP', ['php']],
  [/^(?:c\+\+|cpp)$/i, 'C++', ['cc', 'cpp', 'cxx', 'hpp', 'hh']],
  [/^c$/i, 'C', ['c', 'h']],
  [/^(?:shell|bash)$/i, 'shell', ['sh', 'bash', 'zsh']],
  [/^json$/i, 'JSON', ['json']],
  [/^ya?ml$/i, 'YAML', ['yaml', 'yml']],
  [/^toml$/i, 'TOML', ['toml']],
  [/^xml$/i, 'XML', ['xml']],
  [/^sql$/i, 'SQL', ['sql']],
  [/^html?$/i, 'HTML', ['html', 'htm']],
  [/^(?:css|style ?sheet)$/i, 'CSS', ['css', 'scss', 'less']],
  [/^csv$/i, 'CSV', ['csv']],
  [/^tsv$/i, 'TSV', ['tsv']],
  [/^(?:text|txt|plain text)$/i, 'text', ['txt']],
  [/^log$/i, 'log', ['log']],
  [/^(?:image|picture)$/i, 'image', ['png', 'jpg', 'jpeg', 'gif', 'webp', 'svg']],
];

/** The kind a word or pattern names: `TypeScript`, `.md`, `*.csv`, `test`. */
function kindOf(words: string): FileKind | undefined {
  const plain = words.trim();
  const text = /^[.*]|^(?:css|js|ts)$/i.test(plain) ? plain : plain.replace(/s$/i, '');
  if (/^(?:unit )?tests?$/i.test(text)) return { label: 'test', tests: true };
  const named = KINDS.find(([pattern]) => pattern.test(text));
  if (named !== undefined) return { label: named[1], extensions: named[2] };
  const extension = /^\*?\.([A-Za-z0-9]{1,10})$/.exec(text)?.[1];
  if (extension !== undefined) return { label: `.${extension}`, extensions: [extension.toLowerCase()] };
  if (/^(?:ts|tsx|js|jsx|mjs|py|rs|css|yml)$/i.test(text))
    return { label: `.${text}`, extensions: [text.toLowerCase()] };
  return undefined;
}

const ORDERS: readonly (readonly [string, FileOrder])[] = [
  ['largest|biggest|heaviest|longest in bytes|greatest', 'largest'],
  ['smallest|tiniest|littlest|lightest', 'smallest'],
  [
    'newest|latest|most recent(?:ly (?:changed|modified|edited|updated))?|recently (?:changed|modified|edited|updated)|last (?:changed|modified|edited|updated)|youngest',
    'newest',
  ],
  ['oldest|least recent(?:ly (?:changed|modified|edited|updated))?', 'oldest'],
];
const ORDER = ORDERS.map(([source]) => source).join('|');

/** The order a superlative names. */
export function orderOf(word: string): FileOrder | undefined {
  return ORDERS.find(([source]) => new RegExp(`^(?:${source})$`, 'i').test(word.trim()))?.[1];
}

/** Pattern source of a superlative. */
export const SUPERLATIVE = `(?:${ORDER})`;

const KIND_WORDS =
  'typescript|javascript|source(?: code)?|code|program|markdown|md|python|rust|golang|go|java|kotlin|ruby|php|c\\+\\+|cpp|c|shell|bash|json|ya?ml|toml|xml|sql|html?|css|style ?sheet|csv|tsv|plain text|text|txt|log|image|picture|(?:unit )?tests?|ts|tsx|js|jsx|mjs|py|rs|\\*?\\.[a-z0-9]{1,10}';
const LEAD = new RegExp(
  '^(?:(?:all|every|any|each)(?: of)? )?(?:the |its |their |all )?(?:top )?' +
    `(?:(${COUNT}) )?(?:very )?(?:(${ORDER})(?=[ ,]|$) ?)?(?:(${COUNT}) )?((?:(?:${KIND_WORDS})(?:,? (?:and|or) |, | )?)*?)` +
    `(?:(files?(?: names?)?|pages?|scripts?|documents?|tests?|images?|pictures?|sources|ones?)\\b|(?=$|[ ,]|(?:in|under|inside|within|of|from|below|by|with|and|named|called|ending|matching|here|there)\\b))`,
  'i',
);
const IN_NAME = `(${QUOTE}|[^\\s,]+)`;
const MODIFIERS: readonly {
  readonly pattern: RegExp;
  readonly read: (match: RegExpExecArray, draft: Draft) => boolean;
}[] = [
  {
    pattern: new RegExp(
      `^,? ?(?:with|that have|that has|which have|which has|having|have|has) (?:the (?:word|text) )?${IN_NAME} in (?:their|its|the) (?:file ?)?names?`,
      'i',
    ),
    read: (match, draft) => draft.addPartOfName(match[1] ?? ''),
  },
  {
    pattern: new RegExp(
      `^,? ?(?:whose (?:file ?)?names?|with (?:file ?)?names?(?: that)?) (?:contains?|includes?|ha(?:ve|s)|mentions?|containing|including) (?:the (?:word|text) )?${IN_NAME}`,
      'i',
    ),
    read: (match, draft) => draft.addPartOfName(match[1] ?? ''),
  },
  {
    pattern: new RegExp(
      `^,? ?(?:named|called|matching|like|whose names? (?:match(?:es)?|is|are)|with (?:the )?name)(?: the pattern)? (${QUOTE}|[^\\s,]+)`,
      'i',
    ),
    read: (match, draft) => draft.addGlob(match[1] ?? ''),
  },
  {
    pattern:
      /^,? ?(?:ending (?:in|with)|that end (?:in|with)|which end (?:in|with)|whose names? ends? (?:in|with)|with (?:the )?(?:extension|ending)) ([^\s,]+)/i,
    read: (match, draft) => draft.addExtension(match[1] ?? ''),
  },
  {
    pattern: /^,? ?(?:\(?by (?:file )?(?:size|bytes|number of bytes)\)?|(?:sorted|ordered|ranked) by (?:size|bytes))/i,
    read: (_, draft) => draft.orderBy('largest'),
  },
  {
    pattern:
      /^,? ?(?:by (?:date|time|age|modification (?:date|time))|(?:sorted|ordered) by (?:date|time|modification (?:date|time)))/i,
    read: (_, draft) => draft.orderBy('newest'),
  },
  {
    pattern:
      /^,? ?(?:and|with|together with|including|plus) (?:their |its |the )?(?:file )?(?:sizes?|bytes|byte counts?)(?: in bytes)?/i,
    read: (_, draft) => draft.withSizes(),
  },
  {
    pattern:
      /^,? ?(?:recursively|including (?:all )?sub-?(?:folders|directories)|and (?:all )?(?:its|their) sub-?(?:folders|directories)|at any depth|(?:that|which) (?:exist|are there)|are there|there are|exist|do we have|do i have)\b/i,
    read: () => true,
  },
  {
    pattern: new RegExp(
      `^,? ?(?:that |which |that's |lying )?(?:are |is |live |lie )?${IN} ((?:(?:the|this|my|our|your|all|every|any|that) )?(?:(?:folder|directory|dir|current|whole|working|entire|same|source)(?: (?:called|named))? )*${PATH}(?: (?:folder|directory|dir|project|repo|repository|package))?)`,
      'iu',
    ),
    read: (match, draft) => draft.setFolder(match[1] ?? ''),
  },
  { pattern: /^,? ?(?:here|there)\b/i, read: (match, draft) => draft.setFolder(match[0].replace(/[\s,]/g, '')) },
];

interface Draft {
  addPartOfName(text: string): boolean;
  addGlob(text: string): boolean;
  addExtension(text: string): boolean;
  orderBy(order: FileOrder): boolean;
  withSizes(): boolean;
  setFolder(text: string): boolean;
}

/** What a selection phrase said: the files, and whether their sizes are asked for too. */
export interface SelectionPhrase {
  readonly selection: Selection;
  readonly sizes: boolean;
  /** It names a particular set: an order, a count, a kind or a folder, not just `files`. */
  readonly specific: boolean;
  readonly namesFolder: boolean;
}

/**
 * Reads `the three largest TypeScript files under src` and the like. The whole phrase must be understood: a leftover word
 * could change what is meant, so then nothing is returned.
 */
export function selectionPhrase(text: string, quotes: readonly Quote[], there?: Place): SelectionPhrase | undefined {
  const lead = LEAD.exec(text.trim());
  if (lead === null || lead[0].trim() === '') return undefined;
  const [whole, before, superlative, after, kindWords, noun = ''] = lead;
  const kinds: FileKind[] = [];
  const also: FileKind[] = [];
  for (const word of (kindWords ?? '').split(/,? (?:and|or) |, /)) {
    if (word.trim() !== '' && !readKind(word.trim(), kinds, also)) return undefined;
  }
  if (kinds.length === 0 && /^(?:scripts?|tests?|images?|pictures?|sources)$/i.test(noun)) {
    if (!readKind(noun.replace(/^scripts?$/i, 'source'), kinds, also)) return undefined;
  }
  if (noun === '' && superlative === undefined) return undefined;
  let order = superlative === undefined ? undefined : orderOf(superlative);
  let folder: string | undefined;
  let sizes = false;
  const draft: Draft = {
    addGlob: (words) => {
      const glob = meant(words, quotes);
      also.push({ label: `matching ${glob}`, glob });
      return glob !== '';
    },
    addPartOfName: (words) => {
      const part = meant(words, quotes);
      also.push({ label: `with "${part}" in the name`, glob: `*${part}*` });
      return /^[^/*?[\]{}!]+$/.test(part);
    },
    addExtension: (words) => {
      const kind = kindOf(`.${meant(words, quotes).replace(/^\*?\./, '')}`);
      if (kind !== undefined) also.push(kind);
      return kind !== undefined;
    },
    orderBy: (by) => {
      if (order === undefined) order = by;
      return true;
    },
    withSizes: () => {
      sizes = true;
      return true;
    },
    setFolder: (words) => {
      if (folder !== undefined) return false;
      folder = folderPhrase(words, quotes, there);
      // A list of files is not in a file.
      return folder !== undefined && (there?.folder === folder || !/\.(?:md|txt|json|csv|tsv|html?)$/i.test(folder));
    },
  };
  if (!readModifiers(text.trim().slice(whole.length), draft)) return undefined;
  const said = before ?? after;
  const plural = /s$/i.test(noun) || said !== undefined;
  const count = said === undefined ? (order === undefined ? undefined : plural ? 5 : 1) : countOf(said);
  if (said !== undefined && (count === undefined || count === 0)) return undefined;
  const specific = order !== undefined || count !== undefined || kinds.length + also.length > 0 || folder !== undefined;
  return {
    selection: {
      folder: folder ?? '.',
      kinds,
      also,
      ...(order !== undefined && { order }),
      ...(count !== undefined && { count }),
    },
    sizes,
    specific,
    namesFolder: folder !== undefined,
  };
}

/** `TypeScript` is a kind of its own; in `TypeScript test` both words must hold. */
function readKind(words: string, kinds: FileKind[], also: FileKind[]): boolean {
  const whole = kindOf(words);
  if (whole !== undefined) {
    (whole.tests === true ? also : kinds).push(whole);
    return true;
  }
  const test = /^(?:unit )?tests? | (?:unit )?tests?$/i;
  const kind = test.test(words) ? kindOf(words.replace(test, '')) : undefined;
  if (kind === undefined) return false;
  kinds.push(kind);
  also.push({ label: 'test', tests: true });
  return true;
}

function readModifiers(text: string, draft: Draft): boolean {
  let rest = text;
  while (rest.trim() !== '') {
    rest = rest.replace(/^\s+/, ' ');
    const found = MODIFIERS.map(({ pattern, read }) => ({ match: pattern.exec(rest), read })).find(
      ({ match }) => match !== null,
    );
    if (found?.match == null || !found.read(found.match, draft)) return false;
    rest = rest.slice(found.match[0].length);
  }
  return true;
}

/** The one glob that says what kinds of files are meant; nothing when all are, null when one glob can't say it. */
export function globOf(selection: Selection): string | undefined | null {
  const extensions = selection.kinds.flatMap((kind) => kind.extensions ?? []);
  const globs = selection.also.map(
    (kind) => kind.glob ?? (kind.extensions === undefined ? null : braces(kind.extensions)),
  );
  if (extensions.length > 0) globs.push(braces(extensions));
  return globs.length > 1 ? null : globs[0];
}

function braces(extensions: readonly string[]): string {
  return extensions.length === 1 ? `*.${extensions[0] ?? ''}` : `*.{${extensions.join(',')}}`;
}
