import { estimateText } from '../../messages/estimate.ts';

/** A text made smaller, by steps that take more and more of it. */
const TIERS: readonly ((text: string, tokens: number) => string)[] = [keepEnd, firstSentences, hardCut];

const fits = (text: string, tokens: number): boolean => estimateText(text) <= tokens;

/**
 * A text in at most so many tokens: its last paragraphs; the first sentence of each paragraph; then what there is room for. The
 * text itself when it fits.
 */
export function shrunk(text: string, tokens: number): string {
  let result = text;
  for (const tier of TIERS) {
    if (fits(result, tokens)) return result;
    // Each begins with the whole, for what the one before has left may be the wrong part.
    result = tier(text, tokens);
  }
  return result;
}

const GAP = '[…]';

/** Whole paragraphs from the end. When not even two of them fit, this tier is of no use and gives the text back. */
function keepEnd(text: string, tokens: number): string {
  const paragraphs = paragraphsOf(text);
  let from = paragraphs.length;
  let used = estimateText(GAP);
  while (from > 0) {
    used += estimateText(`${paragraphs[from - 1]}\n\n`);
    if (used > tokens) break;
    from -= 1;
  }
  return paragraphs.length - from < 2 ? text : [GAP, ...paragraphs.slice(from)].join('\n\n');
}

function firstSentences(text: string): string {
  return paragraphsOf(text)
    .map((paragraph) => {
      const end = /[.!?:](?=\s|$)/.exec(paragraph)?.index;
      return end === undefined || end + 1 === paragraph.length ? paragraph : `${paragraph.slice(0, end + 1)} ${GAP}`;
    })
    .join('\n\n');
}

/** Half of it from the beginning, half from the end. A character is a byte at least and four at most. */
function hardCut(text: string, tokens: number): string {
  for (let length = text.length; length > 0; length = Math.floor(length * 0.8)) {
    const half = Math.floor(length / 2);
    const end = half === 0 ? '' : text.slice(-half);
    const cut = `${text.slice(0, half).toWellFormed()}\n${GAP}\n${end.toWellFormed()}`;
    if (fits(cut, tokens)) return cut;
  }
  return '';
}

const paragraphsOf = (text: string): string[] => text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== '');

export interface JudgeTexts {
  readonly context: string;
  readonly outputs: readonly string[];
}

/** Characters below which nobody can tell what an output is about. */
const COMPREHENSIBLE = 200;

/**
 * Context and outputs in so many tokens, in two passes: first only the context gives way and the outputs stay whole; when
 * that isn't enough, both do, each with a share of its own. `isComprehensible` is false when what is left of an output says too
 * little to be judged by.
 */
export function fitToBudget(
  { context, outputs }: JudgeTexts,
  tokens: number,
): JudgeTexts & { readonly isComprehensible: boolean } {
  const whole = outputs.reduce((sum, output) => sum + estimateText(output), 0);
  if (whole + estimateText(context) <= tokens) return { context, outputs, isComprehensible: true };
  const left = tokens - whole;
  if (left >= Math.min(estimateText(context), MIN_CONTEXT)) {
    return { context: shrunk(context, left), outputs, isComprehensible: true };
  }
  const forContext = Math.floor(tokens / 4);
  const each = Math.floor((tokens - forContext) / Math.max(1, outputs.length));
  const smaller = outputs.map((output) => shrunk(output, each));
  return {
    context: shrunk(context, forContext),
    outputs: smaller,
    isComprehensible: smaller.every((output, place) => output === outputs[place] || output.length >= COMPREHENSIBLE),
  };
}

/** Tokens of context that are worth keeping the outputs whole for. */
const MIN_CONTEXT = 50;
