// What a session waits for, and how inputs become messages.
export * from '../features/approvals/pending.ts';
export { resultsProblem, type ResultsProblem } from '../features/approvals/plan.ts';
export type { ApprovalAnswer } from '../session/verbs/answers.ts';
export * from '../session/api.ts';
export * from '../session/input.ts';
export type { QueuedMessage } from '../session/verbs/queue.ts';
export type { Run } from '../session/run.ts';
export * from '../session/session.ts';
