import { TreadleError } from '../../errors.ts';
import { totalTokens } from '../../model/usage.ts';
import type { BranchOutcome, BranchStrategy, EvaluationContext } from './outcome.ts';

const of = (
  name: string,
  choose: (outcomes: readonly BranchOutcome[]) => BranchOutcome | undefined,
): BranchStrategy => ({
  name,
  evaluate: (outcomes) => ({ selectedIndex: must(choose(outcomes)).index }),
});

function must(chosen: BranchOutcome | undefined): BranchOutcome {
  if (chosen) return chosen;
  throw new TreadleError('internal', 'A strategy was asked without an outcome to choose from.');
}

const ONLY: BranchStrategy = Object.freeze(of('only', ([only]) => only));

/** Takes the only branch there is. `runBranches` refuses it for several branches. */
export const onlyBranch = (): BranchStrategy => ONLY;

/** Takes the first that completed, in the order of the configurations. */
export const firstBranch = (): BranchStrategy => of('first', ([first]) => first);

const tokens = ({ usage }: BranchOutcome): number => totalTokens(usage);

/** The first of those for which `value` is the smallest. */
function least(
  outcomes: readonly BranchOutcome[],
  value: (outcome: BranchOutcome) => number,
): BranchOutcome | undefined {
  return outcomes.reduce<BranchOutcome | undefined>(
    (best, outcome) => (best === undefined || value(outcome) < value(best) ? outcome : best),
    undefined,
  );
}

/** Takes the one that used the fewest tokens; of equals the first. */
export const fewestTokens = (): BranchStrategy => of('fewest_tokens', (outcomes) => least(outcomes, tokens));

/** Takes the one that used the most tokens; of equals the first. */
export const mostTokens = (): BranchStrategy =>
  of('most_tokens', (outcomes) => least(outcomes, (outcome) => -tokens(outcome)));

/** The cheaper of two: by dollars where both are known, else by tokens. */
function byPrice(a: BranchOutcome, b: BranchOutcome): number {
  const difference = a.cost !== null && b.cost !== null ? a.cost - b.cost : tokens(a) - tokens(b);
  return difference === 0 ? a.index - b.index : difference;
}

/**
 * Takes the cheapest that passes a check: `check` is asked of one after the other, the cheapest first, until it says yes. A
 * check that fails has said no.
 *
 * When none passes, the group's run fails.
 */
export function cheapestThatPasses(
  check: (outcome: BranchOutcome, context: EvaluationContext) => boolean | Promise<boolean>,
): BranchStrategy {
  return {
    name: 'cheapest_that_passes',
    async evaluate(outcomes, context) {
      for (const outcome of outcomes.toSorted(byPrice)) {
        if (await check(outcome, context)) return { selectedIndex: outcome.index };
      }
      throw new TreadleError('not_selected', `None of the ${outcomes.length} branches passes the check.`);
    },
  };
}

/**
 * Takes the answer that most branches gave; of equals the first. `answerOf` says what counts as the same answer. Default: the
 * final answer without its case and its spaces.
 */
export function vote(answerOf: (outcome: BranchOutcome) => string = plainAnswer): BranchStrategy {
  return {
    name: 'vote',
    evaluate(outcomes) {
      const [most = []] = [...Map.groupBy(outcomes, answerOf).values()].toSorted((a, b) => b.length - a.length);
      const reason = `${most.length} of ${outcomes.length} branches gave this answer.`;
      return { selectedIndex: must(most[0]).index, reason };
    },
  };
}

const plainAnswer = ({ text }: BranchOutcome): string => text.trim().toLowerCase().replaceAll(/\s+/g, ' ');

/** Lets a function choose: it returns the `index` of an outcome. */
export function chosenBy(
  choose: (outcomes: readonly BranchOutcome[], context: EvaluationContext) => number | Promise<number>,
): BranchStrategy {
  return {
    name: 'function',
    evaluate: async (outcomes, context) => ({ selectedIndex: await choose(outcomes, context) }),
  };
}
