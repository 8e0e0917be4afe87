// Views of a log: transcript, cost table, run log, session tree, to-do list, plan.
export * from '../projections/conversations.ts';
export * from '../projections/cost-table.ts';
export * from '../projections/generated-files.ts';
export * from '../projections/plan.ts';
export * from '../projections/rewind.ts';
export * from '../projections/run-log.ts';
export * from '../projections/run-result.ts';
export type { Spending } from '../projections/spending.ts';
export * from '../projections/title.ts';
export * from '../projections/todo.ts';
export * from '../projections/transcript-format.ts';
export * from '../projections/transcript.ts';
export * from '../projections/tree/session-tree-queries.ts';
export * from '../projections/tree/session-tree.ts';
