import { readdir } from 'node:fs/promises';
import { FileProblem } from '../root/problem.ts';
import { inFolder, type Root } from '../root/root.ts';
import { safeLine } from '../text/safe-text.ts';
import { similarity } from '../text/similar.ts';

const mostNames = 5;
const alikeEnough = 0.4;
/** More entries than this are not compared: the hint isn't worth the time. */
const mostEntries = 20_000;

/** Runs `work`; when it finds that `path` does not exist, the problem it throws names what is near. */
export async function withNearNames<T>(root: Root, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FileProblem) || error.code !== 'not_found') throw error;
    throw new FileProblem('not_found', `${error.message}${await nearNames(root, path)}`, error);
  }
}

/** A sentence with names like the first missing one on the way to `path`; empty when there is nothing to say. */
async function nearNames(root: Root, path: string): Promise<string> {
  const names = root.relative(path).split('/');
  for (let depth = names.length - 1; depth >= 0; depth -= 1) {
    const folder = names.slice(0, depth).join('/') || '.';
    const entries = await entriesOf(root, folder);
    if (entries === undefined) continue;
    const wanted = names[depth] ?? '';
    const near = closest(wanted, entries);
    if (near.length === 0) return ` Use list_files to see what is in ${folder === '.' ? 'the root folder' : folder}.`;
    const shown = near.map((name) => (folder === '.' ? safeLine(name) : `${folder}/${safeLine(name)}`));
    const unicode = near.some((name) => name !== wanted && name.normalize('NFC') === wanted.normalize('NFC'));
    return ` Near names: ${shown.join(', ')}.${unicode ? ' (One of them is the same name in another Unicode form.)' : ''}`;
  }
  return '';
}

async function entriesOf(root: Root, folder: string): Promise<readonly string[] | undefined> {
  try {
    const location = await root.locate(folder);
    try {
      if (location.stats?.isDirectory() !== true) return undefined;
      return await inFolder(root, location, ({ self }) => readdir(self));
    } finally {
      await location.close();
    }
  } catch {
    // Only a hint: what is wrong with the path is being reported already.
    return undefined;
  }
}

function closest(wanted: string, entries: readonly string[]): string[] {
  const folded = wanted.normalize('NFKC').toLowerCase();
  const scored = entries.slice(0, mostEntries).map((name) => {
    const other = name.normalize('NFKC').toLowerCase();
    const contains = folded.length > 2 && (other.includes(folded) || folded.includes(other)) ? alikeEnough : 0;
    // Letters in another order: the usual slip in a name too short to have pieces in common.
    const swapped = sorted(folded) === sorted(other) ? alikeEnough : 0;
    return { name, score: Math.max(similarity(folded, other), contains, swapped) };
  });
  return scored
    .filter(({ score }) => score >= alikeEnough)
    .toSorted((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .slice(0, mostNames)
    .map(({ name }) => name);
}

const sorted = (text: string): string => [...text].toSorted().join('');
