import type { Content, CreateJob, Reading } from '../jobs.ts';
import type { Clause } from '../language/clauses.ts';
import { PATH, filePhrase, looksLikeFile, tidyPath } from '../language/folder.ts';
import { QUOTE, meant, soleQuote, unmask } from '../language/quotes.ts';
import { readData } from './data.ts';

const MAKE = '(?:create|make|write|generate|produce|build|save|start|set up|put together|prepare|add)';
const SMALL =
  '(?:(?:new|small|simple|little|short|tiny|basic|plain|empty|blank|nice|one-page|static|html|web|markdown|text|md|csv|json|txt|summary) )*';
const NOUN = '(?:web ?page|page|website|site|files?|document|note|report|list|summary)';
const FILE_FIRST = new RegExp(
  `^${MAKE}(?: me| us)? (?:(?:a|an|the|another|one) )?${SMALL}(?:${NOUN},? )?(?:(?:called|named|at|in|as|under|to|file) )*(?:the file )?(${PATH})(.*)$`,
  'iu',
);
const CONTENT_FIRST = new RegExp(
  `^(?:write|save|put|store|output|dump|copy|record|note|list|export|print|add|collect|place|enter)(?: down)? (.+) (?:to|into|in|as|inside) (?:a |the )?(?:new )?(?:(?:text |markdown |html |csv |json )?(?:file|page|note|document) )?(?:called |named )?(${PATH})(?: file)?$`,
  'iu',
);
const TITLE = new RegExp(
  `(?:^|[ ,])(?:(?:and )?(?:titled|entitled|headed|with (?:the |a )?(?:title|heading|headline)(?: of)?|whose title is|and (?:the |a )?title|about)) (${QUOTE}|.+?)(?=,? (?:and|with|that|which|containing|saying|listing|showing)\\b|$)`,
  'i',
);
const PAGE =
  /^,? ?(?:(?:as )?(?:a|an) )?(?:(?:small|simple|little|short|tiny|basic|nice|one-page|static|html|web) ?)*(?:web ?page|page|document|file|note|list)\b/i;
const SAYS =
  /^(?:with|containing|that contains?|which contains?|holding|saying|that says|which says|reading|that reads|that holds|to contain|to say|consisting of|including|that has|having|listing|that lists|which lists|showing|that shows|from|of|for|and (?:write|put|add|list|save)(?: in(?:to)? it)?|in which you (?:write|list)|where you (?:write|list)|with in it)(?= |:|$)/i;
const TEXT_WORDS =
  /^(?:just |only )?(?:the |this |these |a |some |following )*(?:exact |literal |single )?(?:text|contents?|words?|line|lines|message|sentence|string|greeting|body|following)\b(?! (?:of|count|in|from|that|which|with|where|mention)\b|,? and\b|, )(?: (?:text|contents?|lines?))?:?/i;
const SAYING = /^(?:saying|that says|which says|reading|that reads|to say)\b/i;
const EARLIER =
  /^(?:them|these|those|it|that|this|they|their names|(?:the|its|their|those|these|all)(?: of)? ?(?:results?|list|names?|names and sizes|paths|output|answer|answers|findings|figures|numbers|summary|matches|files|text|totals?|counts?)(?: (?:found|of it|of that|of them|above))?|what you (?:find|found|learn(?:ed)?)|the (?:names|list) of (?:them|these|those)(?: files)?|(?:everything|all) (?:of it|of them|you found))$/i;
const DETERMINER =
  /^(?:a|an|the|some|my|your|our|its|their|his|her|any|all|every|each|several|many|lots|more|information|details|everything|facts|ideas|instructions|something|documentation|tests|code|how (?:many|often|much|long|far)|number of|count of|what|which|where|who|when|why|whether)\b/i;

/** Reads requests to create a file or a small page. */
export function readCreate(clause: Clause, reading: Reading): CreateJob | undefined {
  return fileFirst(clause, reading) ?? contentFirst(clause, reading);
}

function fileFirst(clause: Clause, reading: Reading): CreateJob | undefined {
  const match = FILE_FIRST.exec(clause.text);
  if (match === null) return undefined;
  const [, name = '', tail = ''] = match;
  const path = newFile(name, clause, new RegExp(`${NOUN} (?:called|named|at) `, 'i').test(clause.text));
  if (path === undefined || !/^(?:$|[ ,:])/.test(tail)) return undefined;
  const title = TITLE.exec(tail);
  let rest = (title === null ? tail : tail.replace(title[0], ' '))
    .trim()
    .replace(/^,? ?(?:as )?(?=a )/i, '')
    .trim();
  rest = rest
    .replace(PAGE, '')
    .replace(/^[ ,:]+|[ ,]+$/g, '')
    .replace(/^(?:and|but) (?=with|that|contain|say|list|show)/i, '');
  const content = contentOf(rest, clause, reading);
  if (content === undefined) return undefined;
  // `a page p.html`, or `p.html, a small page`: said of the file, before what it is to hold.
  const about = clause.text.slice(0, clause.text.length - tail.length) + (PAGE.exec(tail)?.[0] ?? '');
  return {
    kind: 'create',
    path,
    ...content,
    ...(/ (?:web ?page|page|website|site)(?= |$)/i.test(about) && { page: true as const }),
    ...(title !== null && { title: meant(title[1] ?? '', clause.quotes) }),
  };
}

function contentFirst(clause: Clause, reading: Reading): CreateJob | undefined {
  const match = CONTENT_FIRST.exec(clause.text);
  if (match === null) return undefined;
  const path = newFile(match[2] ?? '', clause, false);
  const phrase = match[1] ?? '';
  if (path === undefined) return undefined;
  const text = textPhrase(phrase, clause);
  if (text !== undefined) return { kind: 'create', path, content: { from: 'text', text }, open: false };
  const found = foundPhrase(phrase, clause, reading);
  return found === undefined ? undefined : { kind: 'create', path, content: found, open: false };
}

function newFile(name: string, clause: Clause, explicit: boolean): string | undefined {
  const path = filePhrase(name, clause.quotes) ?? (explicit ? tidyPath(meant(name, clause.quotes)) : undefined);
  return path !== undefined && (looksLikeFile(path) || explicit) && !/^(?:with|called|named|it|them)$/i.test(path)
    ? path
    : undefined;
}

/** What goes into the file, from the words after its name. Nothing when those words ask for what can't be made. */
function contentOf(words: string, clause: Clause, reading: Reading): { content: Content; open: boolean } | undefined {
  if (words === '') return { content: { from: 'nothing' }, open: false };
  const lead = SAYS.exec(words)?.[0] ?? '';
  const phrase = words
    .slice(lead.length)
    .replace(/^[ :]+/, '')
    .trim();
  if (lead === '' && soleQuote(phrase, clause.quotes) === undefined) return undefined;
  if (/^(?:no|nothing|no (?:content|text)|nothing in it)$/i.test(phrase))
    return { content: { from: 'nothing' }, open: false };
  const text = textPhrase(phrase, clause);
  if (text !== undefined) return { content: { from: 'text', text }, open: false };
  const found = foundPhrase(phrase, clause, reading);
  if (found !== undefined) return { content: found, open: false };
  const worded = TEXT_WORDS.exec(phrase)?.[0];
  const rest = phrase.slice(worded?.length ?? 0);
  // A quoted text ends at its closing mark: more words than that are a request that wasn't understood.
  if (rest.trim().startsWith('\uE000')) return undefined;
  const plain = unmask(rest, clause.quotes).trim();
  // `with a poem about autumn` asks for writing, which rules can't do; `with hello world` gives the words.
  if (plain === '' || (worded === undefined && !SAYING.test(lead) && DETERMINER.test(plain))) return undefined;
  return { content: { from: 'text', text: plain }, open: true };
}

const QUOTES = new RegExp(
  `^(?:(?:a |the )?(?:bulleted |numbered )?(list|lines|items|points|rows|words|names)(?: of)?:? )?((?:${QUOTE})(?:(?:, and|,| and) (?:${QUOTE}))*)$`,
  'i',
);

/** A text that is given as it is: one quote, or several as lines. */
function textPhrase(phrase: string, clause: Clause): string | undefined {
  const worded = TEXT_WORDS.exec(phrase)?.[0] ?? '';
  const quote = soleQuote(
    phrase
      .slice(worded.length)
      .replace(/ (?:in|inside) it$/i, '')
      .trim(),
    clause.quotes,
  );
  if (quote !== undefined) return quote.value;
  const [, kind, several] = QUOTES.exec(phrase) ?? [];
  if (several === undefined) return undefined;
  const values = [...several.matchAll(new RegExp(QUOTE, 'g'))].map((one) => meant(one[0], clause.quotes));
  const bullet = kind !== undefined && /list|items|points/i.test(kind) ? '- ' : '';
  return values.map((value) => `${bullet}${value}\n`).join('');
}

/** What another request finds out, or what the one before found. */
function foundPhrase(phrase: string, clause: Clause, reading: Reading): Content | undefined {
  if (EARLIER.test(phrase) && reading.earlier) return { from: 'earlier' };
  const data = phrase.replace(
    /^(?:a|an|the) (?=(?:sorted |short |bulleted |full |complete )?(?:list|table|summary|overview|description) )/i,
    '',
  );
  const inner = data.replace(/^(?:sorted |short |bulleted |full |complete )?(?:list|table) (?:of|with) /i, '');
  // `the lines of a.txt` are its text; `the lines and words of a.txt` can only be their numbers.
  const numbers = /^(?:the )?(?:lines|words|characters|rows|columns)\b.*(?:,| and )/i.test(phrase)
    ? [`count ${phrase}`]
    : [];
  for (const text of new Set([phrase, data, inner, ...numbers])) {
    const job = readData({ text, quotes: clause.quotes }, reading);
    if (job !== undefined) return { from: 'job', job };
  }
  return undefined;
}
