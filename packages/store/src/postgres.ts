export { postgresJournal } from './postgres/journal.ts';
export type { PostgresJournalOptions } from './postgres/journal.ts';
export type { PostgresConnection } from './postgres/connection/connect.ts';
