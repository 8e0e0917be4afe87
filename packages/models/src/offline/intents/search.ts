import type { Reading, SearchJob } from '../jobs.ts';
import type { Clause } from '../language/clauses.ts';
import { filePhrase, folderPhrase, looksLikeFile } from '../language/folder.ts';
import { globOf, selectionPhrase } from '../language/selection.ts';
import { meant, QUOTE, soleQuote, unmask } from '../language/quotes.ts';
import { counted, grouped } from '../language/words.ts';
import { placeName } from '../reading/listing.ts';
import { literally, parseMatches, type Match, type Matches } from '../reading/matches.ts';
import { callTool, tryTool, type Finding, type Room, type Row, type Script } from '../script.ts';

type Want = SearchJob['want'];

const MENTION =
  '(?:mentions?|contains?|uses?|includes?|imports?|references?|refers? to|ha(?:ve|s)|says?|talks? about|calls?|defines?|matche?s?|mentioning|containing|using|including|importing|referencing|with|about|is (?:used|mentioned|found)|are (?:used|mentioned|found)|occurs?|appears?)';
const PLACES =
  '(?:places?|lines?|occurrences?|mentions?|uses?|usages?|instances?|references?|matches|appearances?|hits?)';
const SEEK =
  '(?:find(?: me)?|search(?: for)?|look(?: up| for)|grep(?: for)?|locate|hunt for|scan for|check for|show(?: me)?|list|give me|get|what are|tell me)';
const LOOK = '(?:find(?: me)?|search(?: for)?|look(?: up| for)|grep(?: for)?|locate|hunt for|scan for|check for)';

/** The ways of asking, from the most to the least particular. `x` is the text looked for. */
const FORMS: readonly { readonly pattern: RegExp; readonly want: Want }[] = [
  {
    pattern: new RegExp(
      `^(?:count(?: how many)?|how many|what is the number of|the number of|number of) (?:of )?(?:the )?(?!lines)${PLACES} (?:of|to|there are of|are there of) (?<x>.+?)(?: are there| there are| exist)?$`,
      'i',
    ),
    want: 'count',
  },
  {
    pattern: new RegExp(
      `^(?:count(?: how many)?|how many|what is the number of|the number of|number of) (?:of )?(?:the )?(?:files|${PLACES}) (?:(?:that|which|where) )?${MENTION} (?<x>.+)$`,
      'i',
    ),
    want: 'count',
  },
  {
    pattern:
      /^(?:count )?how (?:many times|often) (?:does|do|is|are) (?<x>.+?) (?:occurs?|appears?|show up|come up|mentioned|used|found|exist|happen|there)$/i,
    want: 'count',
  },
  {
    // As it is said inside another sentence: `with how many times x occurs`.
    pattern:
      /^(?:the )?(?:how (?:many times|often)|number of times(?: that)?) (?!does |do |is |are )(?<x>.+?) (?:(?:is|are|was) (?:used|mentioned|found)|occurs?|appears?|shows? up|comes? up|exists?)$/i,
    want: 'count',
  },
  {
    pattern: new RegExp(
      `^(?:which|what) (?:are the )?(?:of the )?(?:\\S+ )?(?:files?|documents?|pages?) (?:that |which )?(?:do |does |all )?${MENTION} (?<x>.+)$`,
      'i',
    ),
    want: 'files',
  },
  {
    pattern: new RegExp(
      `^(?:in )?(?:which|what) (?:files?|documents?|pages?) (?:is|are|does|do|has|have) (?<x>.+?) (?:mentioned|used|found|contained|referenced|imported|occur|appear)$`,
      'i',
    ),
    want: 'files',
  },
  {
    pattern: new RegExp(
      `^${SEEK} (?:all |any |every |the |those )*(?:names of (?:the |all )*)?files? (?:names? )?(?:that |which |where |in which )?(?:do |does )?${MENTION} (?<x>.+)$`,
      'i',
    ),
    want: 'files',
  },
  {
    pattern: new RegExp(
      `^(?:(?:the |a list of )?(?:names of )?(?:the |all )*)files? (?:that |which )${MENTION} (?<x>.+)$`,
      'i',
    ),
    want: 'files',
  },
  {
    pattern: new RegExp(
      `^(?:do|does|is there|are there) (?:any|a|some) (?:of the )?files? (?:here )?(?:that |which )?${MENTION} (?<x>.+)$`,
      'i',
    ),
    want: 'files',
  },
  {
    pattern: new RegExp(
      `^(?:${LOOK} )?where (?:is |are |does |do )?(?<x>.+?) (?:is |are |gets? |get )?(?:defined|declared|implemented|created|set up)$`,
      'i',
    ),
    want: 'definition',
  },
  {
    pattern: new RegExp(`^${LOOK} (?:the )?(?:definition|declaration|implementation) of (?<x>.+)$`, 'i'),
    want: 'definition',
  },
  {
    pattern: new RegExp(
      `^(?:${LOOK} )?(?:out )?where (?:is |are |does |do |in (?:the )?files? is )?(?<x>.+?) (?:is |are |gets? )?(?:used|mentioned|found|called|referenced|occurs?|appears?|stands?|described|imported|documented|written)$`,
      'i',
    ),
    want: 'lines',
  },
  {
    pattern: /^(?:is|are) (?<x>.+?) (?:mentioned|used|found|referenced|defined) (?:anywhere|somewhere|here)$/i,
    want: 'lines',
  },
  {
    pattern: new RegExp(
      `^${SEEK} (?:all |any |every |the |each )*(?:${PLACES}) (?:of|to|for|where|that|which|with|in which)?(?: ${MENTION})? ?(?<x>.+?)(?: (?:is|are) (?:used|mentioned|called|found|referenced))?$`,
      'i',
    ),
    want: 'lines',
  },
  {
    pattern: new RegExp(
      `^(?:search|grep|look|scan|check|go) (?:in |through |inside |over )?(?<place>\\S+(?: (?:folder|directory))?|(?:the|this|all|my) .+?) for (?<x>.+)$`,
      'i',
    ),
    want: 'lines',
  },
  { pattern: new RegExp(`^${LOOK} (?<x>.+)$`, 'i'), want: 'lines' },
  { pattern: /^where (?:is|are|does|do|can i find) (?<x>.+?)(?: (?:live|come from|go))?$/i, want: 'lines' },
  {
    pattern: new RegExp(
      `^(?:show me|list) (?:all |every |the )+(?<x>[A-Z]{3,}|${QUOTE})s?(?: comments| lines| markers)?$`,
    ),
    want: 'lines',
  },
  {
    pattern:
      /^(?:the )?(?:(?:search )?results? of (?:searching|a search|the search|looking) for|(?:all )?(?:the )?(?:lines|places|mentions|occurrences|uses) (?:of|that (?:contain|mention)|where|with|containing|mentioning)) (?<x>.+)$/i,
    want: 'lines',
  },
];

const NAMING =
  /^(?:(?:the |all |any |every |a |an |some )*(?:exact |literal )?(?:word|words|text|string|phrase|term|expression|name|identifier|symbol|function|class|variable|constant|type|interface|method|comment|comments|line|lines) )(?:saying |with |called |named )?(?=\S)|^(?:all |any |every |each )(?:the )?|^(?:the |a |an )(?=\S)/i;
const NOTHING =
  /^(?:it|them|they|this|that|these|those|something|anything|me|you|us|we|i|one|ones|he|she|files?|words?|text|things?|what|everything|here|there)$/i;

/** Reads requests to find a text in files. */
export function readSearch(clause: Clause, reading: Reading): SearchJob | undefined {
  const cased = / ?(?:,? ?\(?(?:case[- ]sensitive(?:ly)?|match(?:ing)? case|with exact case|exactly as written)\)?)/i;
  const caseSensitive = cased.test(clause.text);
  const text = clause.text
    .replace(cased, '')
    .replace(/,? ?\(?(?:case[- ]insensitive(?:ly)?|ignoring case)\)?/i, '')
    .trim();
  for (const { sentence, scope } of scopes(text, clause, reading)) {
    for (const { pattern, want } of FORMS) {
      const groups = pattern.exec(sentence)?.groups;
      if (groups === undefined) continue;
      const place = groups['place'] === undefined ? undefined : scopeOf(groups['place'], clause, reading);
      if (groups['place'] !== undefined && place === undefined) continue;
      const wanted = subject(groups['x'] ?? '', clause);
      if (wanted === undefined) break;
      return { kind: 'search', text: wanted, ...(place ?? scope), caseSensitive, want };
    }
  }
  return undefined;
}

interface Scope {
  readonly folder: string;
  readonly glob?: string;
}

const IN = / (?:anywhere in|somewhere in|in|under|inside|within|across|throughout|among|below) /gi;

/** The sentence with and without its place: `x in docs` may be looked for in `docs`, or be the text itself. */
function* scopes(text: string, clause: Clause, reading: Reading): Generator<{ sentence: string; scope: Scope }> {
  for (const match of text.matchAll(IN)) {
    const before = text.slice(0, match.index);
    const phrase = text.slice(match.index + match[0].length);
    const scope = scopeOf(phrase, clause, reading);
    if (scope !== undefined) yield { sentence: before, scope };
    // `which files in docs mention x`, `how often does x in docs occur`
    const inside = new RegExp(`^(.+?) (${MENTION} .+|(?:occur|appear|is|are|does|do)s?\\b.*)$`, 'i').exec(phrase);
    const middle = inside === null ? undefined : scopeOf(inside[1] ?? '', clause, reading);
    if (inside !== null && middle !== undefined) yield { sentence: `${before} ${inside[2] ?? ''}`, scope: middle };
  }
  const everywhere = text.replace(/ (?:anywhere|somewhere|everywhere|here|in (?:the|any|all) files?)$/i, '');
  yield { sentence: text, scope: { folder: '.' } };
  if (everywhere !== text) yield { sentence: everywhere, scope: { folder: '.' } };
}

function scopeOf(phrase: string, clause: Clause, reading: Reading): Scope | undefined {
  const there = reading.folder === undefined ? undefined : { folder: reading.folder };
  const folder = folderPhrase(phrase, clause.quotes, there) ?? filePhrase(phrase, clause.quotes);
  if (folder !== undefined) return { folder };
  const files = selectionPhrase(phrase, clause.quotes, there);
  if (files === undefined || files.selection.order !== undefined || files.selection.count !== undefined)
    return undefined;
  const glob = globOf(files.selection);
  if (glob === null) return undefined;
  return { folder: files.selection.folder, ...(glob !== undefined && { glob }) };
}

/** The text looked for, without the words that only say what it is. */
function subject(words: string, clause: Clause): string | undefined {
  let x = words.trim();
  for (let before = ''; before !== x;) {
    before = x;
    x = x.replace(NAMING, '');
  }
  x = x.replace(/^([A-Z]{3,}|\uE000\d+\uE001)(?:s| comments?| markers?| lines?| notes?)$/, '$1');
  if (soleQuote(x, clause.quotes) !== undefined) return meant(x, clause.quotes);
  if (x === '' || NOTHING.test(x) || unmask(x, clause.quotes) !== x) {
    // A quote among plain words: the quote is what is looked for.
    const quotes = [...x.matchAll(new RegExp(QUOTE, 'g'))];
    const [only] = quotes;
    if (only === undefined || quotes.length > 1 || /\b(?:and|or|but|then|not|without|except|delete|remove)\b/i.test(x))
      return undefined;
    return meant(only[0], clause.quotes);
  }
  return x.length <= 80 && x.split(/\s+/).length <= 5 ? x : undefined;
}

const LIMIT = 1000;
const SHOWN = 12;

/** Searches, and reads around a definition to show it. */
export function* searchScript(job: SearchJob, room: Room): Script<Finding> {
  const result = yield* callTool(room, `Searching ${placeName(job.folder)} for "${job.text}".`, 'search', {
    pattern: literally(job.text),
    path: job.folder,
    ...(job.glob !== undefined && { glob: job.glob }),
    ...(job.caseSensitive && { case_sensitive: true }),
    limit: LIMIT,
  });
  const found = parseMatches(result);
  const definition = job.want === 'definition' ? found.matches.filter((match) => defines(match.text, job.text)) : [];
  const shown = definition.length > 0 ? definition : found.matches;
  const files = [...new Set(shown.map((match) => match.path))];
  const around = yield* definitionText(definition, room);
  const items =
    job.want === 'files'
      ? files.map((path) => ({ text: path, path }))
      : job.want === 'count'
        ? [{ text: summary(job, found) }]
        : shown.map((match) => ({ text: `${match.path}:${match.line}: ${match.text.trim()}` }));
  return {
    text: answer(job, found, definition, around),
    files: files.map((path) => ({ path })),
    items,
    ...rowsOf(job, found, shown),
  };
}

/** What was found as data; the names of files are a list already. */
function rowsOf(job: SearchJob, found: Matches, shown: readonly Match[]): { readonly rows?: readonly Row[] } {
  if (job.want === 'files') return {};
  if (job.want !== 'count') return { rows: shown.map(({ path, line, text }) => ({ path, line, text: text.trim() })) };
  // A number that is only a lower limit is no figure.
  if (found.cut) return {};
  const files = new Set(found.matches.map((match) => match.path)).size;
  return { rows: [{ text: job.text, occurrences: timesIn(job, found), lines: found.matches.length, files }] };
}

function timesIn(job: SearchJob, found: Matches): number {
  return found.matches.reduce((sum, match) => sum + occurrences(match.text, job), 0);
}

function* definitionText(definition: readonly Match[], room: Room): Script<string> {
  const [first] = definition;
  if (first === undefined || !room.tools.has('read_file')) return '';
  const offset = Math.max(1, first.line - 2);
  const page = yield* tryTool(room, `Reading around ${first.path}:${first.line}.`, 'read_file', {
    path: first.path,
    offset,
    limit: 12,
  });
  if (page.isError) return '';
  const lines = page.text.split('\n').filter((line) => /^\s*\d+\t/.test(line));
  return lines.length === 0
    ? ''
    : `\n\n\`\`\`\n${lines.map((line) => line.replace(/^\s*(\d+)\t/, '$1  ')).join('\n')}\n\`\`\``;
}

const DEFINES =
  '(?:function\\*?|class|const|let|var|interface|type|enum|def|fn|func|struct|trait|impl|module|namespace|object|record|static|readonly|public|private|async|get|set|#define|export default)\\s+';

function defines(line: string, name: string): boolean {
  const word = literally(name);
  return (
    new RegExp(`${DEFINES}${word}(?![\\w$])`, 'i').test(line) ||
    new RegExp(`^\\s*${word}\\s*(?:\\(.*\\)\\s*\\{|[:=]\\s*(?:async\\s*)?(?:function|\\())`).test(line)
  );
}

function summary(job: SearchJob, found: Matches): string {
  const files = new Set(found.matches.map((match) => match.path)).size;
  const least = found.cut ? 'at least ' : '';
  const place = `${placeName(job.folder)}${job.glob === undefined ? '' : ` (files ${job.glob})`}`;
  if (found.matches.length === 0) return `"${job.text}" occurs nowhere in ${place}.`;
  if (looksLikeFile(job.folder) && job.want !== 'count')
    return `"${job.text}" is on ${least}${counted(found.matches.length, 'line')} of ${place}.`;
  const lines = counted(found.matches.length, 'line');
  if (job.want === 'count') {
    const times = timesIn(job, found);
    const where = looksLikeFile(job.folder) ? '' : ` in ${least}${counted(files, 'file')}`;
    return `"${job.text}" occurs ${least}${counted(times, 'time')}, on ${lines}${where} of ${place}.`;
  }
  return `"${job.text}" is on ${least}${lines} in ${least}${counted(files, 'file')} of ${place}.`;
}

function occurrences(line: string, job: SearchJob): number {
  const pattern = new RegExp(literally(job.text), job.caseSensitive ? 'g' : 'gi');
  return Math.max(1, line.match(pattern)?.length ?? 0);
}

function answer(job: SearchJob, found: Matches, definition: readonly Match[], around: string): string {
  if (found.matches.length === 0) return [summary(job, found), ...found.notes.map((note) => `(${note})`)].join('\n');
  const [first] = definition;
  if (first !== undefined) {
    const more = definition.slice(1, SHOWN).map((match) => `\n- also ${match.path}:${match.line}`);
    return `"${job.text}" is defined in ${first.path}, line ${first.line}.${around}${more.join('')}\n${summary(job, found)}`;
  }
  const counts = new Map<string, number>();
  for (const match of found.matches) counts.set(match.path, (counts.get(match.path) ?? 0) + 1);
  const lines =
    job.want === 'files' || job.want === 'count'
      ? [...counts].map(([path, count]) => `- ${path} (${counted(count, 'line')})`)
      : found.matches.map((match) => `- ${match.path}:${match.line}: ${shorten(match.text.trim())}`);
  const rest = lines.length > SHOWN ? [`- … and ${grouped(lines.length - SHOWN)} more`] : [];
  const notes = found.notes.map((note) => `(${note})`);
  const undefinedNote = job.want === 'definition' ? ['I see no definition of it, only these mentions.'] : [];
  return [summary(job, found), ...undefinedNote, ...lines.slice(0, SHOWN), ...rest, ...notes].join('\n');
}

function shorten(text: string): string {
  return text.length <= 160 ? text : `${text.slice(0, 160)}…`;
}
