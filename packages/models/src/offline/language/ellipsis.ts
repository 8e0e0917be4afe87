import type { DataJob, EditJob, Job, Reading } from '../jobs.ts';
import { LONGEST_CLAUSE, type Clause } from './clauses.ts';
import { filePhrase, folderPhrase, looksLikeFile } from './folder.ts';
import { soleQuote } from './quotes.ts';
import { selectionPhrase, type Selection, type SelectionPhrase } from './selection.ts';

const SAME =
  /^(?:(?:do|make|try|give me|show me|and|now) )*(?:exactly )?(?:the )?(?:same|that|it|likewise|ditto)(?: thing| again| request| once more)?(?: again| once more)?(?: (?:for|with|in|on|to|under|of|from))? (.+)$/i;
const ABOUT = /^(?:(?:and|or|so) )?(?:what|how) about (.+)$/i;
const SHORT = /^(?:(?:and|but|now|only|just|then) )*(?:for|in|with|under|from|of|on) (.+)$/i;
const AGAIN =
  /^(?:again|once more|(?:do|try|run|repeat) (?:it|that|this|the same)(?: again| once more)?|repeat|the same(?: again)?)$/i;
const INTO =
  /^(.*?),? ?(?:(?:and|but) )?(?:(?:put|write|save|store|create) (?:it|them|that) )?(?:in|into|to|as) (\S+)$/i;

const JOINED = /^\s*(?:(?:ok|okay|good|great|thanks|fine|please|oh),? )*(?:and|or|now|then|also|next|but)\b/i;

/**
 * Whether a prompt only makes sense as a change to the request before it, and what it changes. A mere name (`and docs?`)
 * must be joined to it by a word: `thanks` is no folder.
 */
export function continuesWith(
  prompt: string,
  clause: Clause,
  before: readonly Job[],
  reading: Reading,
): readonly Job[] | undefined {
  if (before.length === 0 || clause.text.length > LONGEST_CLAUSE) return undefined;
  if (AGAIN.test(clause.text)) return before;
  const phrase =
    SAME.exec(clause.text)?.[1] ?? ABOUT.exec(clause.text)?.[1] ?? SHORT.exec(clause.text)?.[1] ?? clause.text;
  const bare = phrase === clause.text && !JOINED.test(prompt);
  const changed = changedBy(phrase, clause, before, reading, bare);
  if (changed !== undefined) return changed;
  const [, first = '', second = ''] = INTO.exec(phrase) ?? [];
  const target = filePhrase(second, clause.quotes);
  const partly = target === undefined || first === '' ? undefined : changedBy(first, clause, before, reading, bare);
  if (partly === undefined || target === undefined) return undefined;
  const written = partly.map((job) => writtenTo(job, target));
  return written.every((job) => job !== undefined) && written.length === 1 ? written : undefined;
}

/** The job with its result in a file. A change has no result of that kind. */
function writtenTo(job: Job, path: string): Job | undefined {
  if (job.kind === 'create') return { ...job, path };
  return isData(job) && job.kind !== 'run'
    ? { kind: 'create', path, content: { from: 'job', job }, open: false }
    : undefined;
}

function changedBy(
  phrase: string,
  clause: Clause,
  before: readonly Job[],
  reading: Reading,
  bare: boolean,
): readonly Job[] | undefined {
  const selection = selectionPhrase(
    phrase,
    clause.quotes,
    reading.folder === undefined ? undefined : { folder: reading.folder },
  );
  // `the largest file in docs` names everything it means; only what is left open comes from before.
  if (selection?.specific === true && !(bare && selection.namesFolder)) {
    const changed = before.map((job) => withSelection(job, selection));
    if (changed.some((job, i) => job !== before[i])) return changed;
  }
  if (bare) return undefined;
  const quote = soleQuote(phrase, clause.quotes);
  const file = filePhrase(phrase, clause.quotes);
  const folder = folderPhrase(phrase, clause.quotes, undefined);
  const changed = before.map((job) => {
    if (quote !== undefined && !looksLikeFile(quote.value)) return withText(job, quote.value);
    if (file !== undefined) return withFile(job, file);
    return folder === undefined ? job : withFolder(job, folder);
  });
  if (changed.some((job, i) => job !== before[i])) return changed;
  return undefined;
}

/** The parts of the earlier selection that weren't named again stay. */
function merged(selection: Selection, phrase: SelectionPhrase): Selection {
  const now = phrase.selection;
  const order = now.order ?? selection.order;
  const count = now.count ?? selection.count;
  return {
    folder: phrase.namesFolder ? now.folder : selection.folder,
    kinds: now.kinds.length > 0 ? now.kinds : selection.kinds,
    also: now.also.length > 0 ? now.also : selection.also,
    ...(order !== undefined && { order }),
    ...(count !== undefined && { count }),
  };
}

function withSelection(job: Job, phrase: SelectionPhrase): Job {
  if (job.kind === 'list')
    return { ...job, selection: merged(job.selection, phrase), sizes: job.sizes || phrase.sizes };
  if ((job.kind === 'figures' || job.kind === 'edit') && job.target.by === 'selection') {
    return { ...job, target: { by: 'selection', selection: merged(job.target.selection, phrase) } };
  }
  return inContent(job, (inner) => withSelection(inner, phrase));
}

function withFolder(job: Job, folder: string): Job {
  if (job.kind === 'describe' || job.kind === 'search') return { ...job, folder };
  if (job.kind === 'list') return { ...job, selection: { ...job.selection, folder } };
  if (job.kind === 'lists')
    return { ...job, lists: job.lists.map((one) => ({ ...one, selection: { ...one.selection, folder } })) };
  if (job.kind === 'figures' || job.kind === 'edit') return withTargetFolder(job, folder);
  return inContent(job, (inner) => withFolder(inner, folder));
}

function withTargetFolder<J extends Extract<DataJob, { kind: 'figures' }> | EditJob>(job: J, folder: string): J {
  if (job.target.by === 'selection')
    return { ...job, target: { by: 'selection', selection: { ...job.target.selection, folder } } };
  return job.target.by === 'folder' ? { ...job, target: { by: 'folder', folder } } : job;
}

function withFile(job: Job, path: string): Job {
  if (job.kind === 'figures' || job.kind === 'edit') return { ...job, target: { by: 'path', path } };
  if (job.kind === 'search') return { ...job, folder: path };
  if (job.kind === 'create' && job.content.from === 'job' && job.content.job.kind === 'figures')
    return inContent(job, (inner) => withFile(inner, path));
  return job.kind === 'create' ? { ...job, path } : job;
}

function withText(job: Job, text: string): Job {
  if (job.kind === 'search') return { ...job, text };
  if (job.kind === 'run') return { ...job, command: text };
  return inContent(job, (inner) => withText(inner, text));
}

function inContent(job: Job, change: (inner: DataJob) => Job): Job {
  if (job.kind !== 'create' || job.content.from !== 'job') return job;
  const inner = change(job.content.job);
  return inner === job.content.job || !isData(inner) ? job : { ...job, content: { from: 'job', job: inner } };
}

function isData(job: Job): job is DataJob {
  return job.kind !== 'create' && job.kind !== 'edit' && job.kind !== 'unclear';
}
