import type { Change, EditJob, Reading } from '../jobs.ts';
import type { Clause } from '../language/clauses.ts';
import { folderPhrase, PATH } from '../language/folder.ts';
import { hasAnotherPair, hasLooseQuote } from '../language/gaps.ts';
import { meant, soleQuote } from '../language/quotes.ts';
import { targetPhrase } from './target.ts';

const VERBS =
  '(?:replace|substitute|swap|exchange|change|turn|rename|update|set|edit|modify|convert|make|correct|fix|remove|delete|append|add|find)';
const ALL = '(?:(the first|only the first|just the first)|(?:all|every|each|any)(?: of)?(?: the)?|the)';
const OCCURRENCES = `(?:${ALL} )?(?:(?:occurrences?|instances?|mentions?|uses?|appearances?) of )?(?:the )?(?:(?:word|words|text|string|phrase|line|name|term|identifier|variable|function|heading) )?`;
const PLACE = / (?:in|inside|within|throughout|across|everywhere in|of|from) /gi;
const REPLACE = new RegExp(
  `^(?:replace|substitute|swap|exchange) ${OCCURRENCES}(.+?) (?:with|by|for) (?:the )?(?:(?:word|text|string|phrase|line) )?(.+)$`,
  'i',
);
const FIND_AND = new RegExp(
  `^(?:find|look for|search for) ${OCCURRENCES}(.+?) (?:in|inside|within) (.+?),? and (?:replace|change|substitute|swap) (?:it|them|that|every one|all of them|each) (?:with|by|for|to|into) (.+)$`,
  'i',
);
const FIND_AND_IN = new RegExp(
  `^(?:find|look for|search for) ${OCCURRENCES}(.+?),? and (?:replace|change|substitute|swap) (?:it|them|that|every one|all of them|each) (?:with|by|for|to|into) (.+)$`,
  'i',
);
const CHANGE = new RegExp(
  `^(change|turn|rename|update|edit|modify|convert|correct|fix|set) ${OCCURRENCES}(.+?) (?:to|into) (?:the )?(?:(?:word|text|string|phrase|line) )?(.+)$`,
  'i',
);
const CHANGE_LAST = new RegExp(
  `^(change|turn|rename|update|edit|modify|convert|correct|fix|set) ${OCCURRENCES}(.+?) (?:in|inside|within|of|throughout|across) (.+?) (?:to|into) (?:say |read |be )?(.+)$`,
  'i',
);
const REMOVE = new RegExp(
  `^(?:remove|delete|take out|drop) ${OCCURRENCES}(.+?) (?:in|from|throughout|across) (.+)$`,
  'i',
);
const APPEND =
  /^(?:append|add) (?:the |a |another |one )?(?:new )?(?:(?:line|text|sentence|paragraph|entry|item|row|words?|section) )?(?:saying |with |that says )?(.+?) (?:to|at|as the last line of|on) (?:the )?(?:end of |bottom of )?(?:the file )?(.+)$/i;
const TITLE = /^(?:the )?(?:page |document |first |main |top )?(?:title|heading|headline)$/i;

/** Moves `in a.txt,` from the front of a clause to its end, where the patterns expect it. */
export function placeLast(text: string): string {
  const comma = new RegExp(
    `^(?:in|inside|within|for|from|under) ((?:(?:the|my|our) )?(?:file |folder )?${PATH}(?: (?:file|folder|directory))?),? (${VERBS}\\b.+|(?:count|how|what|which|search|list|where|sum)\\b.+)$`,
    'iu',
  ).exec(text);
  return comma === null ? text : `${comma[2] ?? ''} in ${comma[1] ?? ''}`;
}

/** Reads requests to change text in a file, or in the files of a folder. */
export function readEdit(clause: Clause, reading: Reading): EditJob | undefined {
  return readReplace(clause, reading) ?? readChange(clause, reading) ?? readAppend(clause, reading);
}

/** Every way to read `y in all files in src` as a text and a place, the shortest text first. */
function splits(tail: string): readonly (readonly [string, string])[] {
  return [...tail.matchAll(PLACE)].map(
    (match) => [tail.slice(0, match.index), tail.slice(match.index + match[0].length)] as const,
  );
}

type Parts = readonly [from: string, to: string, place: string, first: boolean];

function readReplace(clause: Clause, reading: Reading): EditJob | undefined {
  const { text } = clause;
  const replace = REPLACE.exec(text);
  const later = FIND_AND.exec(text);
  const found = FIND_AND_IN.exec(text);
  const removed = REMOVE.exec(text);
  if (later !== null) {
    const parts: Parts = [later[2] ?? '', later[4] ?? '', later[3] ?? '', later[1] !== undefined];
    const job = replacement(parts, false, clause, reading);
    if (job !== undefined) return job;
  }
  const two = found ?? replace;
  if (two !== null) {
    for (const [to, place] of splits(two[3] ?? '')) {
      const job = replacement([two[2] ?? '', to, place, two[1] !== undefined], false, clause, reading);
      if (job !== undefined) return job;
    }
    return undefined;
  }
  // What is to go must be marked: `remove the tests from src` is no request to delete two words.
  const quoted = removed === null ? undefined : soleQuote(removed[2] ?? '', clause.quotes);
  const target = removed === null ? undefined : editTarget(removed[3] ?? '', clause, reading);
  if (quoted === undefined || target === undefined || quoted.value === '') return undefined;
  return {
    kind: 'edit',
    target,
    change: { kind: 'replace', from: quoted.value, to: '', wholeWord: false, first: removed?.[1] !== undefined },
  };
}

function replacement(parts: Parts, wholeWord: boolean, clause: Clause, reading: Reading): EditJob | undefined {
  const [from, to, place, first] = parts;
  const target = editTarget(place, clause, reading);
  const old = meant(from, clause.quotes);
  if (
    target === undefined ||
    old === '' ||
    !isOneText(from) ||
    !isOneText(to) ||
    /^(?:it|them|that|this|something|anything|everything|text|words?)$/i.test(from)
  )
    return undefined;
  return {
    kind: 'edit',
    target,
    change: { kind: 'replace', from: old, to: meant(to, clause.quotes), wholeWord, first },
  };
}

/** Not a text with another request behind it. */
function isOneText(words: string): boolean {
  return !hasLooseQuote(words) && !hasAnotherPair(words);
}

function readChange(clause: Clause, reading: Reading): EditJob | undefined {
  const match = CHANGE.exec(clause.text);
  const last = CHANGE_LAST.exec(clause.text);
  const forms: (readonly [string, string, string, string, boolean])[] = [];
  for (const [to, place] of splits(match?.[4] ?? ''))
    forms.push([match?.[1] ?? '', match?.[3] ?? '', to, place, match?.[2] !== undefined]);
  if (last !== null) forms.push([last[1] ?? '', last[3] ?? '', last[5] ?? '', last[4] ?? '', last[2] !== undefined]);
  for (const [verb, what, to, place, first] of forms) {
    const target = editTarget(place, clause, reading);
    if (target === undefined || !isOneText(to)) continue;
    const value = meant(to, clause.quotes);
    const change = changeOf(verb, what, value, target, clause);
    if (change !== undefined) return { kind: 'edit', target, change };
    const wholeWord = /^rename$/i.test(verb);
    const job = replacement([what, to, place, first], wholeWord, clause, reading);
    if (job !== undefined) return job;
  }
  return undefined;
}

/** A change that isn't from these words to those: of the title, or of a named field. */
function changeOf(
  verb: string,
  what: string,
  to: string,
  target: EditJob['target'],
  clause: Clause,
): Change | undefined {
  if (TITLE.test(what)) return { kind: 'title', to };
  const field =
    /^(?:the )?(?:(?:value|field|key|property|setting|option) (?:of )?)?(?:the )?(.+?)(?: (?:field|key|property|setting|option|value))?$/i.exec(
      what,
    )?.[1] ?? what;
  const named = /\b(?:value|field|key|property|setting|option)\b/i.test(what);
  const inData =
    target.by === 'path' && /\.(?:json|ya?ml|toml|ini|env|properties|conf)$|(?:^|\/)\.env/i.test(target.path);
  const name = meant(field, clause.quotes);
  if (!/^[\w.$@-]+$/.test(name)) return undefined;
  const isField =
    named ||
    /^set$/i.test(verb) ||
    (inData && soleQuote(field, clause.quotes) === undefined && !/^rename$/i.test(verb));
  return isField ? { kind: 'field', name, to } : undefined;
}

function readAppend(clause: Clause, reading: Reading): EditJob | undefined {
  const match = APPEND.exec(clause.text);
  const quote = match === null ? undefined : soleQuote(match[1] ?? '', clause.quotes);
  const target = match === null ? undefined : editTarget(match[2] ?? '', clause, reading);
  if (quote === undefined || target?.by === undefined || target.by === 'folder') return undefined;
  return { kind: 'edit', target, change: { kind: 'append', text: quote.value } };
}

function editTarget(phrase: string, clause: Clause, reading: Reading): EditJob['target'] | undefined {
  const target = targetPhrase(phrase, clause, reading);
  if (target !== undefined) return target;
  const there = reading.folder === undefined ? undefined : { folder: reading.folder };
  const folder = folderPhrase(phrase, clause.quotes, there);
  return folder === undefined ? undefined : { by: 'folder', folder };
}
