import { QUOTE, meant, soleQuote, type Quote } from './quotes.ts';

const WORD = '[\\p{L}\\p{N}_@.+~#-]+';
/** Pattern source of a path without spaces, or of a quoted one. */
export const PATH = `(?:${QUOTE}|/?${WORD}(?:/${WORD})*/?)`;

const FAMOUS =
  /^(?:readme|license|licence|changelog|contributing|authors|notice|makefile|dockerfile|procfile|gemfile|rakefile|jenkinsfile|codeowners|\.[\w-]+)$/i;

/** A path in the form the tools print: relative, without `./` and without a closing slash. */
export function tidyPath(path: string): string {
  const tidy = path
    .trim()
    .replace(/^(?:\.\/)+/, '')
    .replace(/(?<=.)\/+$/, '');
  return tidy === '' ? '.' : tidy;
}

/** Whether a path names a file by its looks: an extension, or a name everybody knows. */
export function looksLikeFile(path: string): boolean {
  if (path.endsWith('/')) return false;
  const name = path.slice(path.lastIndexOf('/') + 1);
  return /[^.]\.[A-Za-z][A-Za-z0-9]{0,9}$/.test(name) || FAMOUS.test(name);
}

/** The path a file phrase names: `data.csv`, `the file data.csv`, `the data.csv file`, or a quoted one. */
export function filePhrase(text: string, quotes: readonly Quote[]): string | undefined {
  const inner = text
    .trim()
    .replace(
      /^(?:the |my |our |this |a )?(?:(?:text|csv|json|data|source|markdown|html)? ?(?:file|page|document|table|script)(?: (?:called|named))? )?/i,
      '',
    )
    .replace(/ (?:file|page|document|table|script)$/i, '')
    .replace(/^the /i, '')
    .trim();
  const quote = soleQuote(inner, quotes);
  const explicit = /\b(?:file|page|document|table|script)\b/i.test(text);
  if (quote !== undefined) {
    return quote.kind !== 'block' && /^[^\n\0]+$/.test(quote.value) && (explicit || looksLikeFile(quote.value))
      ? tidyPath(quote.value)
      : undefined;
  }
  if (!new RegExp(`^${PATH}$`, 'u').test(inner)) return undefined;
  const path = inner.replace(/[.,:]+$/, '');
  return looksLikeFile(path) || (explicit && path.includes('/')) ? tidyPath(path) : undefined;
}

const HERE =
  /^(?:(?:this|the|my|our|your|all of this|all of the|the whole|this whole|the entire|the current|current|the working) ?(?:current |working |root |whole |entire )?(?:folder|directory|dir|project|repo|repository|workspace|codebase|code base|code|source code|sources?|package|root|place|tree|file tree|files)(?:'s (?:folder|files|root))?|here|it all|(?:all|every|any|each)(?: of)?(?: the)? files?|everywhere|anywhere|\.\/?|all of it)$/i;
const THERE = /^(?:it|there|that (?:folder|directory)|the same (?:folder|directory|place)|the (?:folder|directory))$/i;

/** What a request about a place refers to when it says `there`. */
export interface Place {
  readonly folder: string;
}

/** The folder a phrase such as `src`, `the docs folder`, `this project` or `there` names. */
export function folderPhrase(text: string, quotes: readonly Quote[], there: Place | undefined): string | undefined {
  const phrase = text.trim();
  if (there !== undefined && THERE.test(phrase)) return there.folder;
  if (HERE.test(phrase)) return '.';
  const inner = phrase
    .replace(/^(?:(?:all|any|every|each)(?: of)?(?: the)? files? (?:in|under|of|inside) )/i, '')
    .replace(/^(?:the |my |our |your )?(?:(?:sub)?(?:folder|directory|dir)(?: (?:called|named))? )?/i, '')
    .replace(/ (?:(?:sub)?(?:folder|directory|dir)|package|tree)$/i, '')
    .trim();
  if (HERE.test(inner)) return '.';
  if (soleQuote(inner, quotes) !== undefined) return tidyPath(meant(inner, quotes));
  return new RegExp(`^${PATH}$`, 'u').test(inner) && !NOT_A_FOLDER.test(inner)
    ? tidyPath(inner.replace(/(?<=\w)[.,:]+$/, ''))
    : undefined;
}

const NOT_A_FOLDER =
  /^(?:it|its|them|they|that|this|these|those|there|you|me|us|what|which|who|why|how|one|ones|each|mind|general|total|detail|order|fact|particular|full|english|bytes|lines|words|size|date|name|names|use|used)$/i;

/** Pattern source of the words that lead to a place. */
export const IN =
  '(?:anywhere in|everywhere in|somewhere in|in|under|inside|within|of|from|at|below|across|throughout|for|beneath)';
