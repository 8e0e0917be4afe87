import { errorText, type JsonValue } from '@treadle/core';
import { checkRule, type PermissionSettings } from '@treadle/core/permissions';

import { UsageError } from '../../cli/usage-error.ts';
import { ownRule, type RulePlace } from '../wire/rule-paths.ts';

/** Rules as somebody wrote them, by what they do. */
export type WrittenRules = Readonly<Partial<Record<'allow' | 'ask' | 'deny', readonly string[]>>>;

/**
 * Rules that core takes. A rule that allows and can't be used is left out, and that is said; one that denies or asks must not
 * be lost. A tool that there isn't can be neither allowed nor denied.
 *
 * @throws UsageError for a rule that denies or asks, and can't be used.
 */
export function checkedRules(
  written: WrittenRules,
  place: RulePlace,
  {
    source,
    where,
    tools,
    note,
  }: {
    readonly source: NonNullable<PermissionSettings['source']>;
    readonly where: string;
    readonly tools: readonly string[];
    readonly note: (text: string) => void;
  },
): PermissionSettings {
  const usable = (behavior: 'allow' | 'ask' | 'deny'): string[] =>
    (written[behavior] ?? []).flatMap((text) => {
      const rule = ownRule(text, place);
      const problem = problemOf(() => checkRule(rule, behavior, source));
      if (problem !== null) {
        if (behavior !== 'allow') throw new UsageError(`${where}: ${problem}`);
        note(`${where}: ${problem} It is left out.`);
        return [];
      }
      const unknown = problemOf(() => checkRule(rule, behavior, source, tools));
      if (unknown === null) return [rule];
      note(`${where}: ${unknown} It is left out.`);
      return [];
    });
  return { source, allow: usable('allow'), ask: usable('ask'), deny: usable('deny') };
}

function problemOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return errorText(error);
  }
}

/** The texts of a list that may hold anything. @throws UsageError for anything else. */
export function texts(value: JsonValue | undefined, where: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw new UsageError(`${where} must be a list of texts.`);
}
