export { postgresJournal, type PostgresJournalOptions } from './postgres/journal.ts';
export { inspectPostgres, type PostgresReport } from './postgres/inspect.ts';
export type { PostgresConnection } from './postgres/connection/connect.ts';
export { postgresBlobs, type PostgresBlobs, type PostgresBlobsOptions } from './postgres/stores/blobs.ts';
export { postgresBus, type PostgresBusOptions } from './postgres/stores/bus.ts';
export { postgresLedger, type PostgresLedger, type PostgresLedgerOptions } from './postgres/stores/ledger.ts';
export { postgresMemory, type PostgresMemory, type PostgresMemoryOptions } from './postgres/stores/memory.ts';
export { postgresShared, type PostgresShared } from './postgres/stores/shared.ts';
export type { PostgresStoreOptions } from './postgres/stores/store.ts';
