// The pure parts of the loop: the state, its fold and its plan.
export { plan } from '../kernel/plan.ts';
export * from '../kernel/reduce.ts';
export { DEFAULT_LIMITS } from '../kernel/services/limits.ts';
export { type OpenedState, openState } from '../kernel/snapshot/keeper.ts';
export type { SessionState } from '../kernel/state.ts';
export type { Step } from '../kernel/step.ts';
