export * from './client.ts';
export { ClientError } from './error.ts';
export type { ClientOptions } from './http.ts';
export type { Approval, ClientTool, RunOptions, RunOutcome } from './run.ts';
export type { Snapshot, StreamMessage, StreamOptions } from './stream.ts';
