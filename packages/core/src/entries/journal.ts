// The port of journals, and what every journal needs. For authors of journals.
export * from '../journal/check-facts.ts';
export type { LogReader } from '../journal/history.ts';
export * from '../journal/journal.ts';
export * from '../journal/memory.ts';
export { changesFacts, factsAfter, type SessionFacts } from '../journal/session-facts.ts';
export * from '../journal/support.ts';
export * from '../journal/up-to-date.ts';
