// Permission rules, decisions and updates.
export type { PermissionDecision } from '../features/permissions/decision.ts';
export type { DecidedBy } from '../features/permissions/evaluate.ts';
export type { PermissionSettings } from '../features/permissions/permissions.ts';
export { loadRule as checkRule } from '../features/permissions/rules/load.ts';
export type { RuleWithExamples } from '../features/permissions/rules/rule.ts';
export type { FileUpdate } from '../features/permissions/updates.ts';
