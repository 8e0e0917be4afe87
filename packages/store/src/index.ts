export type { SqliteJournalOptions } from './sqlite/journal.ts';
export { sqliteJournal } from './sqlite/journal.ts';
export type { ProcessIdentity, ProcessTable } from './sqlite/processes.ts';
export { systemProcesses } from './sqlite/processes.ts';
export type { SqliteLedger, SqliteLedgerOptions } from './sqlite/ledger.ts';
export { sqliteLedger } from './sqlite/ledger.ts';
export type { SqliteMemory, SqliteMemoryOptions } from './sqlite/memory.ts';
export { sqliteMemory } from './sqlite/memory.ts';
