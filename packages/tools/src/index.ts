export { builtInTools } from './built-in-tools.ts';
export type { BuiltInToolsOptions } from './built-in-tools.ts';
export { bashTool } from './bash-tool.ts';
export type { BashToolOptions } from './bash-tool.ts';
export { editFileTool, listFilesTool, readFileTool, writeFileTool } from './file-tools.ts';
export type { EditFileToolOptions, ListFilesToolOptions, ReadFileToolOptions } from './file-tools.ts';
export { searchTool } from './search-tool.ts';
export type { SearchToolOptions } from './search-tool.ts';
export { todoTool } from './todo-tool.ts';
export { planTool } from './plan-tool.ts';
export { askUserTool } from './ask-user-tool.ts';
export type { AskUserToolOptions } from './ask-user-tool.ts';
export { re2Validator } from './re2-validator.ts';
export { webFetchTool } from './web-fetch-tool.ts';
export type { WebFetchToolOptions } from './web-fetch-tool.ts';
export { readProjectInstructions } from './instructions/read.ts';
export type {
  InstructionFile,
  InstructionWarning,
  ProjectInstructions,
  ProjectInstructionsOptions,
} from './instructions/read.ts';
export { defaultSkippedFolders } from './options.ts';
export type { CommonToolOptions } from './options.ts';
export { commandHook } from './hooks/command-hook.ts';
export type { CommandHookOptions } from './hooks/command-hook.ts';
export { hooksFromSettings } from './hooks/settings.ts';
export type { HookSettings } from './hooks/settings.ts';
export { defaultDenyPatterns } from './bash/deny.ts';
export type { DenyPattern } from './bash/deny.ts';
export { analyseCommand } from './bash/grammar/analyse.ts';
export type { CommandAnalysis } from './bash/grammar/analyse.ts';
export { commandAccess } from './bash/allow/command-access.ts';
export type { CommandFacts, CommandPlace } from './bash/allow/command-access.ts';
export { findExecutable } from './bash/find-executable.ts';
export { sandboxStatus } from './sandbox/status.ts';
export type { SandboxStatus } from './sandbox/probe.ts';
export type { HelperCommand, HelperEnd, SandboxParts } from './sandbox/parts.ts';
export type { ProcessGroup } from './sandbox/process-limit.ts';
export { protectedNames } from './sandbox/settings.ts';
export type { SandboxMode, SandboxOptions } from './sandbox/settings.ts';
export { withoutSecrets } from './bash/environment.ts';
export { hideEnvironment } from './process/hide-environment.ts';
export type { HiddenEnvironment } from './process/hide-environment.ts';
export { processesShowing } from './process/shown-secrets.ts';
export type { ShowingProcess } from './process/shown-secrets.ts';
export { openRoot } from './root/root.ts';
export type { FileChange, Root, RootOptions, UpdateOptions } from './root/root.ts';
export { folderCopies } from './copies/folder-copies.ts';
export type { FolderCopiesOptions } from './copies/folder-copies.ts';
export { worktreeCopies } from './copies/worktree-copies.ts';
export { rewindSession } from './rewind/rewind.ts';
export type { RewindOptions, RewindReport } from './rewind/rewind.ts';
export type { RewindAction, RewoundFileReport } from './rewind/restore.ts';
export { describeChange } from './text/diff.ts';
export type { LineChange } from './text/diff.ts';
