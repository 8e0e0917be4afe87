export { postgresJournal, type PostgresJournalOptions } from './postgres/journal.ts';
export type { PostgresConnection } from './postgres/connection/connect.ts';
