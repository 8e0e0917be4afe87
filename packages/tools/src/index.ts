export { builtInTools, type BuiltInToolsOptions } from './built-in-tools.ts';
export { bashTool, type BashToolOptions } from './bash-tool.ts';
export { editFileTool, listFilesTool, readFileTool, writeFileTool } from './file-tools.ts';
export type { EditFileToolOptions, ListFilesToolOptions, ReadFileToolOptions } from './file-tools.ts';
export { changeProblem, previewChange } from './files/preview.ts';
export { readAttachment } from './attachments/attachment.ts';
export { searchTool, type SearchToolOptions } from './search-tool.ts';
export { todoTool } from './todo-tool.ts';
export { planTool } from './plan-tool.ts';
export { askUserTool, type AskUserToolOptions } from './ask-user-tool.ts';
export { webFetchTool, type WebFetchToolOptions } from './web-fetch-tool.ts';
export { readProjectInstructions } from './instructions/read.ts';
export type {
  InstructionFile,
  InstructionWarning,
  ProjectInstructions,
  ProjectInstructionsOptions,
} from './instructions/read.ts';
export { defaultSkippedFolders, type CommonToolOptions } from './options.ts';
export { commandHook, type CommandHookOptions, type HookTranslation } from './hooks/command-hook.ts';
export { hookAnswer } from './hooks/answer.ts';
export { hookEventName, hookEventOf } from './hooks/names.ts';
export { hookPayload } from './hooks/payload.ts';
export { hooksFromSettings, type HookSettings } from './hooks/settings.ts';
export { defaultDenyPatterns, type DenyPattern } from './bash/deny.ts';
export { analyseCommand, type CommandAnalysis } from './bash/grammar/analyse.ts';
export { commandAccess, type CommandFacts, type CommandPlace } from './bash/allow/command-access.ts';
export { findExecutable } from './bash/find-executable.ts';
export { sandboxStatus } from './sandbox/status.ts';
export type { SandboxStatus } from './sandbox/probe.ts';
export type { HelperCommand, HelperEnd, SandboxParts } from './sandbox/parts.ts';
export type { ProcessGroup } from './sandbox/process-limit.ts';
export { protectedNames, type SandboxMode, type SandboxOptions } from './sandbox/settings.ts';
export { withoutSecrets } from './bash/environment.ts';
export { hideEnvironment, type HiddenEnvironment } from './process/hide-environment.ts';
export { processesShowing, type ShowingProcess } from './process/shown-secrets.ts';
export type { EditorFiles } from './root/open.ts';
export { openRoot, type FileChange, type Root, type RootOptions, type UpdateOptions } from './root/root.ts';
export { folderCopies, type FolderCopiesOptions } from './copies/folder-copies.ts';
export { worktreeCopies } from './copies/worktree-copies.ts';
export { rewindSession, type RewindOptions, type RewindReport } from './rewind/rewind.ts';
export type { RewindAction, RewoundFileReport } from './rewind/restore.ts';
export { describeChange, type LineChange } from './text/diff.ts';
export { re2Validator } from './re2-validator.ts';
