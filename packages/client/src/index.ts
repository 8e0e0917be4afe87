export * from './client.ts';
export * from './answers.ts';
export { ClientError } from './error.ts';
export type { ClientOptions } from './http.ts';
export type { Approval, ClientTool, FollowOptions, RunOptions, RunOutcome, ToolResult } from './run.ts';
export { remoteTasks, type RemoteTasksOptions } from './remote-tasks.ts';
export type { ClientTasks, TaskInfo } from './tasks.ts';
export type { Snapshot, StreamMessage, StreamOptions } from './stream.ts';
