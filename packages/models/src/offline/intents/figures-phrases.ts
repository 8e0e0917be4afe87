import type { Counted, FiguresJob, Reading, Statistic, Target, Wanted } from '../jobs.ts';
import type { Clause } from '../language/clauses.ts';
import { meant } from '../language/quotes.ts';
import { COUNT, countOf as valueOf } from '../language/words.ts';
import { referencePhrase, targetPhrase } from './target.ts';

const COUNTABLE: readonly (readonly [RegExp, Counted])[] = [
  [/^lines?(?: of (?:code|text))?$/i, 'lines'],
  [/^words?$/i, 'words'],
  [/^(?:characters?|chars?|letters?)$/i, 'characters'],
  [/^(?:(?:data )?rows?|records?|entries)$/i, 'rows'],
  [/^(?:columns?|fields?)$/i, 'columns'],
];
const NOUN =
  '(?:lines?(?: of (?:code|text))?|words?|characters?|chars?|letters?|(?:data )?rows?|records?|entries|columns?|fields?)';
const NOUNS = `${NOUN}(?:(?:, and|,| and| or) (?:the |its |their |how many )?(?:number of )?${NOUN})*`;
const COUNTING = new RegExp(
  `^(?:count(?: up)?(?: how many)?|how many|(?:what is |what's |what are |give me |show me |get |find |report )?(?:the )?(?:total )?(?:number|count) of)(?: all)? ?(the |its |their |of the )?(${NOUNS})(?: (.*))?$`,
  'i',
);
const COUNT_OF = new RegExp(
  `^(?:(?:what is |what's |give me |show me |get |report )?(?:the )?)(${NOUN})[- ]counts? (?:of|for|in) (.+)$`,
  'i',
);
const HOW_LONG = /^how (?:long|many lines long) (?:is|are) (.+)$/i;

const STATS: readonly (readonly [string, Statistic])[] = [
  ['grand total|totals?|sum up|sums?|add up|add together|summing up', 'sum'],
  ['averages?|arithmetic mean|means?', 'average'],
  ['medians?', 'median'],
  ['minimums?|min|smallest|lowest|least', 'min'],
  ['maximums?|max|largest|highest|biggest|greatest', 'max'],
  [
    'number of (?:distinct|unique|different)(?: values)?|how many (?:distinct|unique|different)(?: values)?',
    'distinct',
  ],
];
const STAT = STATS.map(([source]) => source).join('|');
const STATISTIC = new RegExp(
  `^(?:(?:what(?:'s| is| are| was)|calculate|compute|work out|give me|show(?: me)?|find|get|report|print|determine|display) )?(?:the )?(${STAT})((?:(?:, and|,| and| or) (?:the )?(?:${STAT}))*)(?: (?:value|values|number|figure|entry))?(?= |$)(.*)$`,
  'i',
);
const JOINT = /^(?:, and|,| and| or) (?:the )?/i;

/** Reads requests for what is in a file: counts, figures, a summary, or the text itself. */
export function readFigures(clause: Clause, reading: Reading): FiguresJob | undefined {
  return (
    readRange(clause, reading) ??
    readCounts(clause, reading) ??
    readStatistics(clause, reading) ??
    readContent(clause, reading)
  );
}

function job(target: Target, wanted: Partial<Wanted>): FiguresJob {
  return { kind: 'figures', target, wanted: { counts: [], statistics: [], ...wanted } };
}

const LINES = new RegExp(
  `^(?:(?:show|print|display|read|give|cat|get|see|list|tell)(?: me)? |what (?:is|are|stands) (?:on |in )?)?(?:the )?(?:lines? (\\d{1,7})(?: ?(?:to|through|until|up to|and|-|–) ?(\\d{1,7}))?|(first|last|top) (?:(${COUNT}) )?lines?) (?:of|in|from) (.+)$`,
  'i',
);

/** `lines 3 to 7 of a.txt`, `the first five lines of a.txt`. */
function readRange(clause: Clause, reading: Reading): FiguresJob | undefined {
  const [, from, to, end, count, phrase = ''] = LINES.exec(clause.text) ?? [];
  const target = phrase === '' ? undefined : targetPhrase(phrase, clause, reading);
  if (target === undefined) return undefined;
  if (end !== undefined) {
    const many = count === undefined ? 1 : (valueOf(count) ?? 0);
    if (many < 1) return undefined;
    return job(target, { content: true, range: /^last$/i.test(end) ? { last: many } : { from: 1, to: many } });
  }
  const range = { from: Number(from), to: Number(to ?? from) };
  return range.from < 1 || range.to < range.from ? undefined : job(target, { content: true, range });
}

function readCounts(clause: Clause, reading: Reading): FiguresJob | undefined {
  const long = HOW_LONG.exec(clause.text)?.[1];
  const longTarget = long === undefined ? undefined : targetPhrase(long, clause, reading);
  if (longTarget !== undefined) return job(longTarget, { counts: ['lines', 'words'] });
  const countOf = COUNT_OF.exec(clause.text);
  const match = COUNTING.exec(clause.text);
  const nouns = countOf?.[1] ?? match?.[2];
  if (nouns === undefined) return undefined;
  const counts = nouns
    .split(/(?:, and|,| and| or) /)
    .map((noun) => noun.trim().replace(/^(?:the |its |their |how many )?(?:number of )?/i, ''))
    .flatMap((noun) => COUNTABLE.find(([pattern]) => pattern.test(noun))?.[1] ?? []);
  const whose = match?.[1]?.trim() ?? '';
  const rest = (countOf?.[2] ?? match?.[3] ?? '')
    .replace(
      /^(?:(?:of|in|from|for|inside|are there in|are there|are in|is in|there are in|does|do|has|have|are)(?: |$))+/i,
      '',
    )
    .replace(/(?:^| )(?:have|has|contain|contains|hold|there|each has|long)$/i, '')
    .trim();
  const target =
    rest === ''
      ? referenceTarget(/^their$/i.test(whose) ? 'them' : 'it', reading)
      : targetPhrase(rest, clause, reading);
  return target === undefined ? undefined : job(target, { counts });
}

function referenceTarget(words: string, reading: Reading): Target | undefined {
  const reference = referencePhrase(words, reading);
  return reference === undefined ? undefined : { by: 'reference', reference };
}

function readStatistics(clause: Clause, reading: Reading): FiguresJob | undefined {
  const match = STATISTIC.exec(clause.text.replace(/^(?:sum|add|total) (?:up|together) /i, 'sum '));
  if (match === null) return undefined;
  const [, first = '', others = '', rest = ''] = match;
  const statistics = [first, ...others.split(/(?=, | and | or )/)]
    .map((word) => word.replace(JOINT, '').trim())
    .filter((word) => word !== '')
    .flatMap((word) => STATS.find(([source]) => new RegExp(`^(?:${source})$`, 'i').test(word))?.[1] ?? []);
  for (const split of rest.matchAll(/ (?:in|of|from|inside|within|for) /gi)) {
    const [phrase = '', byAfter] = rest.slice(split.index + split[0].length).split(BY);
    const target = targetPhrase(phrase, clause, reading);
    if (target === undefined) continue;
    const [column = '', byBefore] = rest.slice(0, split.index).split(BY);
    const by = byAfter ?? byBefore;
    const name = columnName(column, clause);
    // A question about the largest file is one about files, not about a column called so.
    if (/^(?:\d+ )?(?:\S+ )?files?$/i.test(name) && target.by !== 'path') return undefined;
    return job(target, {
      statistics,
      ...(name !== '' && { column: name }),
      ...(by !== undefined && { by: columnName(by, clause) }),
    });
  }
  return ofEarlierFile(statistics, rest, clause, reading);
}

/** `read data.csv, then work out the total of amount`: the file is the one before. */
function ofEarlierFile(
  statistics: readonly Statistic[],
  rest: string,
  clause: Clause,
  reading: Reading,
): FiguresJob | undefined {
  const target = referenceTarget('it', reading);
  const [column = '', by] = rest.split(BY);
  const name = columnName(column, clause);
  const numbers = /\b(?:numbers?|figures?|values?)\b/i.test(rest);
  if (target === undefined || /\b(?:files?|ones?|in|under|inside)\b/i.test(name) || (name === '' && !numbers))
    return undefined;
  return job(target, {
    statistics,
    ...(name !== '' && { column: name }),
    ...(by !== undefined && { by: columnName(by, clause) }),
  });
}

const BY = / (?:grouped by|by|per|for each|for every) /i;

/** `of the column amount` → `amount`; `of all the numbers` → nothing: then every number counts. */
function columnName(words: string, clause: Clause): string {
  let name = words.trim();
  for (let before = ''; before !== name;) {
    before = name;
    name = name
      .replace(/^(?:of|for|in|from|over|the|all|every|its|values?|numbers?|figures?|column|field)(?: |$)/i, '')
      .replace(/(?:^| )(?:column|field|values?|numbers?|figures?|are|is|are there|there)$/i, '')
      .trim();
  }
  return meant(name, clause.quotes);
}

const SUMMARY =
  /^(?:summari[sz]e|describe|analy[sz]e|explain|inspect|examine|review|look (?:at|into|through)|take a look at|have a look at|study|read|read through|(?:give me |write |show me )?(?:an? |the )?(?:short |brief |quick )?(?:summary|overview|description|statistics|figures|numbers|stats|analysis) (?:of|for|on|in|from|about)|tell me (?:more )?about|what(?:'s| is| are) (?:there )?in|what (?:are )?(?:the )?(?:figures|numbers|statistics) (?:are )?(?:of|in|from))(?: (?:the )?(?:figures|numbers|statistics|data|contents?|text) (?:of|in|from))?(?: in)? (.+)$/i;
const WHAT_DOES = /^what (?:does|do|is|are) (.+?)(?: (?:say|contain|hold|about|include|for|have in it))$/i;
const CONTENT =
  /^(?:show(?: me)?|print|display|cat|view|type|output|open|give me|quote|what (?:is|are)|get|copy)(?: (?:the )?(?:full |whole |entire )?(?:contents?|text|lines) (?:of|in))?(?: the file)? (.+)$/i;
const TEXT_OF = /^(?:the |a )?(?:full |whole |entire |exact )?(?:contents?|text|copy|lines) (?:of|in|from) (.+)$/i;

function readContent(clause: Clause, reading: Reading): FiguresJob | undefined {
  const text = clause.text.replace(
    / (?:and (?:summari[sz]e|describe) (?:it|them)|to me|in short|briefly|in a few words)$/i,
    '',
  );
  const about = SUMMARY.exec(text)?.[1] ?? WHAT_DOES.exec(text)?.[1];
  const target = about === undefined ? undefined : fileTarget(about, clause, reading);
  if (target !== undefined)
    return { ...job(target, {}), ...(/^(?:read|open|look)\b/i.test(text) && { onlyRead: true as const }) };
  const shown = TEXT_OF.exec(text)?.[1] ?? CONTENT.exec(text)?.[1];
  const shownTarget = shown === undefined ? undefined : fileTarget(shown, clause, reading);
  return shownTarget === undefined ? undefined : job(shownTarget, { content: true });
}

/** `show the largest files` is a list; only what names files to be opened is meant here. */
function fileTarget(phrase: string, clause: Clause, reading: Reading): Target | undefined {
  const target = targetPhrase(phrase, clause, reading);
  return target?.by === 'selection' &&
    !/^(?:read|summari[sz]e|analy[sz]e|describe|explain|inspect|examine|review|study|look)/i.test(clause.text)
    ? undefined
    : target;
}
