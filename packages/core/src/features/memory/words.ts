let segmenter: Intl.Segmenter | undefined;

const between = /[^\p{L}\p{N}\p{M}]+/u;

/**
 * The words of a text in lower case, in their order, for an index or a search: letters and digits only, so that none of
 * them can be syntax of anything. Languages that don't put spaces between words are taken apart too.
 */
export function wordsOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' });
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(text.normalize('NFKC').toLowerCase())) {
    if (isWordLike !== true) continue;
    // A word with a dot or a line in it, such as a file's name, is several.
    for (const word of segment.split(between)) if (word !== '') words.push(word);
  }
  return words;
}

/** English words that say nothing about what a text is about. Other languages have theirs in every text, and rank low. */
const EMPTY: ReadonlySet<string> = new Set(
  (
    'a about after all also am an and any are as at be because been before but by can could did do does for from get had ' +
    'has have he her here him his how i if in into is it its just know let like make may me more most my no not now of on ' +
    'one only or other our out please say see she should show so some tell than that the their them then there these they ' +
    'this those to up us use want was we were what when where which who why will with would yes you your s t re ve ll d m'
  ).split(' '),
);

/** The different words of a text that tell what it is about, at most `most` of them, the first first. */
export function tellingWords(text: string, most: number): string[] {
  const words = new Set<string>();
  for (const word of wordsOf(text)) {
    if (words.size >= most) break;
    if (!EMPTY.has(word)) words.add(word);
  }
  return [...words];
}
