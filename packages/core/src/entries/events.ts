// Every event of the log and of the live stream, with the types of their parts.
export * from '../events/about-sessions.ts';
export * from '../events/branches.ts';
export * from '../events/context-events.ts';
export * from '../events/events.ts';
export * from '../events/files.ts';
export * from '../events/generated-files.ts';
export * from '../events/inputs.ts';
export * from '../events/limits.ts';
export * from '../events/permission-updates.ts';
export * from '../events/tool-events.ts';
export * from '../events/version.ts';
