// Branches of a session and the strategies that choose one.
export * from '../features/branches/judge.ts';
export * from '../features/branches/outcome.ts';
export type { BranchConfig, BranchesOptions } from '../history/branches/perform.ts';
export * from '../history/branches/run-branches.ts';
export * from '../features/branches/strategies.ts';
export * from '../features/branches/working-copy.ts';
export type { BranchPerformer } from '../kernel/context.ts';
export type { BranchesInput } from '../events/inputs.ts';
