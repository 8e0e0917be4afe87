// What a session waits for, and how inputs become messages.
export * from '../features/approvals/pending.ts';
export { resultsProblem, type ResultsProblem } from '../features/approvals/plan.ts';
export * from '../session/api.ts';
export * from '../session/input.ts';
export * from '../session/session.ts';
