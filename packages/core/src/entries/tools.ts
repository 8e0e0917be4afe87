// Parts of tools: what they access, how arguments are checked, plans of tasks and questions to users.
export * from '../tools/access.ts';
export { checkOffered } from '../tools/define/check-offered.ts';
export * from '../tools/define/define-types.ts';
export * from '../tools/define/define.ts';
export type { StandardIssue, StandardResult } from '../tools/define/standard-schema.ts';
export * from '../tools/offered-tool.ts';
export { isStopToolName, type StopToolName } from '../tools/stop-tool-names.ts';
export * from '../tools/task-control.ts';
export * from '../tools/tool-search-names.ts';
export * from '../tools/tool.ts';
export * from '../tools/user-questions.ts';
