// Permission rules, decisions and updates.
export type { CanUseTool, PermissionQuestion, PermissionResult } from '../features/permissions/callback.ts';
export type { PermissionDecision } from '../features/permissions/decision.ts';
export { type DecidedBy, isProtected } from '../features/permissions/evaluate.ts';
export {
  DEFAULT_CALLBACK_TIMEOUT_MS,
  type PermissionConfig,
  type PermissionOptions,
  type PermissionSettings,
} from '../features/permissions/permissions.ts';
export { loadRule as checkRule } from '../features/permissions/rules/load.ts';
export type { RuleInput, RuleWithExamples } from '../features/permissions/rules/rule.ts';
export { applyUpdate, type FileUpdate, type SessionPermissions } from '../features/permissions/updates.ts';
