export type { JournalFile, JournalFileSystem } from './files/file-system.ts';
export { fileJournal, type FileJournalOptions } from './files/journal.ts';
export { withFolderLock } from './files/lock.ts';
export type { DamageReport } from './files/log.ts';
export { sqliteJournal, type SqliteJournalOptions } from './sqlite/journal.ts';
export { systemProcesses, type ProcessIdentity, type ProcessTable } from './processes.ts';
export { sqliteLedger, type SqliteLedger, type SqliteLedgerOptions } from './sqlite/ledger.ts';
export { sqliteMemory, type SqliteMemory, type SqliteMemoryOptions } from './sqlite/memory.ts';
export { fileBlobs, type FileBlobsOptions } from './files/blobs.ts';
