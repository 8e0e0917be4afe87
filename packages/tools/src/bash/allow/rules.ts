import { gitRules } from './git.ts';
import { programRules } from './programs.ts';
import { loadRules, type RuleSet } from './rule.ts';
import { searchRules } from './searches.ts';

let loaded: RuleSet | undefined;

/** The commands that run without being asked for. Their examples are checked when they are first needed. */
export const readOnlyRules = (): RuleSet => (loaded ??= loadRules([...programRules, ...searchRules, ...gitRules]));
