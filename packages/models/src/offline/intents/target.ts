import type { Reading, Reference, Target } from '../jobs.ts';
import type { Clause } from '../language/clauses.ts';
import { filePhrase } from '../language/folder.ts';
import { orderOf, selectionPhrase } from '../language/selection.ts';
import { counted } from '../language/words.ts';
import { listSelection } from '../reading/listing.ts';
import { JobStopped, type FileFact, type Room, type Script } from '../script.ts';
import { selectionInWords } from './list.ts';

const IT =
  /^(?:it|its|that|this|that one|this one|(?:that|this|the|the same)(?: text| csv| json)? file|that page|the page)$/i;
const ALL =
  /^(?:them|their|these|those|they|each|all|both|each (?:one|of them|of these|file)|every one(?: of them)?|all of (?:them|these|those)|both of them|all (?:two|three|four|five|six|seven|eight|nine|ten|\d+)(?: of them)?|(?:these|those|the) (?:files|ones)|all (?:these|those) files)$/i;
const NTH = /^the (first|second|third|fourth|fifth|last)(?: one| file| of them| of these| result)?$/i;
const EXTREME = /^the (\w+)(?: one| of them| of these| of those| among them)?$/i;
const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth'];

/** What `it`, `them`, `the second one` or `the largest of them` points at. */
export function referencePhrase(text: string, reading: Reading): Reference | undefined {
  if (!reading.earlier) return undefined;
  const phrase = text.trim();
  if (IT.test(phrase)) return { kind: 'it' };
  if (ALL.test(phrase)) return { kind: 'all' };
  const nth = NTH.exec(phrase)?.[1]?.toLowerCase();
  if (nth !== undefined) return { kind: 'nth', index: nth === 'last' ? -1 : ORDINALS.indexOf(nth) };
  const order = orderOf(EXTREME.exec(phrase)?.[1] ?? '');
  return order === 'largest' || order === 'smallest' ? { kind: order } : undefined;
}

/** The files a phrase means: a path, a reference, or a selection such as `the two largest files in docs`. */
export function targetPhrase(text: string, clause: Clause, reading: Reading): Target | undefined {
  const reference = referencePhrase(text, reading);
  if (reference !== undefined) return { by: 'reference', reference };
  const path = filePhrase(text, clause.quotes);
  if (path !== undefined) return { by: 'path', path };
  const several = text.split(/,? and |, /).map((part) => filePhrase(part, clause.quotes));
  if (several.length > 1 && several.every((one) => one !== undefined)) return { by: 'paths', paths: several };
  const there = reading.folder === undefined ? undefined : { folder: reading.folder };
  const phrase = selectionPhrase(text, clause.quotes, there);
  return phrase?.specific === true ? { by: 'selection', selection: phrase.selection } : undefined;
}

/** More files than these are not read one by one. */
export const MOST_FILES = 20;

/** The files a target comes to. Ends the job when there are none, or too many to read. */
export function* resolveTarget(target: Target, room: Room): Script<readonly FileFact[]> {
  if (target.by === 'path') return [{ path: target.path }];
  if (target.by === 'paths') return target.paths.map((path) => ({ path }));
  if (target.by === 'reference') return resolveReference(target.reference, room);
  const listing = yield* listSelection(room, target.selection);
  if (listing.files.length === 0) {
    throw new JobStopped(
      `There are ${selectionInWords(target.selection, 0)}.${listing.note === undefined ? '' : ` ${listing.note}`}`,
    );
  }
  if (listing.files.length > MOST_FILES) {
    const found = counted(listing.files.length, 'file');
    throw new JobStopped(
      `That is ${found}; I read at most ${MOST_FILES} one by one. Ask for fewer, such as "the five largest".`,
    );
  }
  return listing.files;
}

function resolveReference(reference: Reference, room: Room): readonly FileFact[] {
  const withFiles = room.findings.filter((finding) => finding.files.length > 0);
  const latest = withFiles.at(-1)?.files ?? [];
  // `the second one` means a list, even when one of its files was looked at in between.
  const list = withFiles.findLast((finding) => finding.files.length > 1)?.files ?? latest;
  if (reference.kind === 'all') return some(list.slice(0, MOST_FILES));
  if (reference.kind === 'nth') return some(list.slice(reference.index).slice(0, 1));
  if (reference.kind === 'it') {
    if (latest.length > 1) {
      throw new JobStopped(
        `I found ${counted(latest.length, 'file')}, so I don't know which one "it" is. Say "the first one", or its name.`,
      );
    }
    return some(latest);
  }
  if (list.some((file) => file.bytes === undefined))
    throw new JobStopped(`I don't know the sizes of the files found, so not which is the ${reference.kind}.`);
  const sorted = [...list].sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0) || (a.path < b.path ? -1 : 1));
  const extreme = reference.kind === 'largest' ? sorted[0]?.bytes : sorted.at(-1)?.bytes;
  return some(sorted.filter((file) => file.bytes === extreme).slice(0, 1));
}

function some(files: readonly FileFact[]): readonly FileFact[] {
  if (files.length === 0) throw new JobStopped('I found no file before that this could mean. Name the file.');
  return files;
}
