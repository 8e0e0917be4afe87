export * from './json.ts';
export * from './errors.ts';
export { checkMessages, type MessageFill } from './messages/check.ts';
export * from './messages/content.ts';
export * from './messages/message.ts';
export * from './model/model.ts';
export * from './model/retry.ts';
export type {
  ChooseModel,
  Range,
  Route,
  RouteCondition,
  Routing,
  RoutingChoice,
  RoutingFacts,
  RoutingOptions,
} from './model/routing.ts';
export { createPartialJson, type PartialJson } from './model/partial-json.ts';
export * from './events/events.ts';
export type { FileCheckpointedEvent, FilesRewoundEvent, RewoundFile } from './events/files.ts';
export type { FilesGeneratedEvent, GeneratedFile } from './events/generated-files.ts';
export type { ModelFile, ModelFiles, ReadModelFileOptions } from './model/files.ts';
export * from './journal/journal.ts';
export * from './journal/memory.ts';
export * from './journal/support.ts';
export {
  blobErrors,
  blobIdOf,
  isBlobId,
  readBlob,
  type BlobContent,
  type BlobRef,
  type Blobs,
  type BlobSweep,
  type BlobSweepReport,
  type PutBlobOptions,
} from './blobs/blobs.ts';
export type { BlobOptions } from './blobs/keeper.ts';
export { memoryBlobs } from './blobs/memory.ts';
export { blobIdsOf, sweepBlobs, type SweepBlobsOptions } from './blobs/sweep.ts';
export { changesFacts, checkTags, checkTitle, factsAfter, type SessionFacts } from './journal/session-facts.ts';
export * from './memory/memory.ts';
export { tellingWords, wordsOf } from './memory/words.ts';
export { createRedactor, type Redactor, type RedactorStream } from './secrets/redactor.ts';
export { secretSpellings } from './secrets/spellings.ts';
export { secretGuard, type GuardToolOptions, type SecretGuard, type SecretGuardOptions } from './secrets/guard.ts';
export * from './tools/tool.ts';
export * from './tools/access.ts';
export * from './tools/define.ts';
export { checkOffered } from './tools/check-offered.ts';
export type { OfferedTool } from './tools/offered-tool.ts';
export type { FromJsonSchema, ToolArguments, ToolParameters } from './tools/define-types.ts';
export type { StandardSchema, StandardResult, StandardIssue } from './tools/standard-schema.ts';
export { compileSchema, validateJson, type SchemaCheck } from './tools/validate.ts';
export type { PermissionOptions, PermissionSettings, PermissionConfig } from './permissions/permissions.ts';
export { DEFAULT_CALLBACK_TIMEOUT_MS } from './permissions/permissions.ts';
export { PERMISSION_MODES, isStricter, type PermissionMode } from './permissions/mode.ts';
export type { RuleBehavior, RuleInput, RuleSource, RuleWithExamples } from './permissions/rule.ts';
export { loadRule as checkRule } from './permissions/load.ts';
export type { CanUseTool, PermissionQuestion, PermissionResult } from './permissions/callback.ts';
export type { PermissionDecision } from './permissions/decision.ts';
export type { DecidedBy } from './permissions/evaluate.ts';
export { isProtected } from './permissions/evaluate.ts';
export {
  applyUpdate,
  type FileUpdate,
  type PermissionUpdate,
  type SessionPermissions,
  type UpdateDestination,
} from './permissions/updates.ts';
export * from './ports/http.ts';
export * from './ports/clock.ts';
export * from './ports/dispatcher.ts';
export * from './ports/ids.ts';
export * from './hooks/hook.ts';
export type { HookRegistry } from './hooks/registry.ts';
export * from './context/index.ts';
export type { AnswerContext, AnswerVerdict, FinalAnswerCheck, FinalAnswerCheckOptions } from './output/check.ts';
export type { FilterContext, FilterVerdict, InputFilter, NamedInputFilter } from './output/filters.ts';
export type { OutputMode, OutputOptions, StructuredOutput } from './output/structured.ts';
export type { TurnContextOptions, TurnContextProvider, TurnFacts } from './output/turn-context.ts';
export { isNoCallReminder, type NoToolCallPolicy } from './output/no-call.ts';
export { isTerminalToolName, type TerminalToolName } from './output/terminal-tools.ts';
export * from './agent.ts';
export * from './input.ts';
export { DEFAULT_LIMITS, type LimitName, type Limits, type LimitsData } from './limits/limits.ts';
export * from './limits/ledger.ts';
export type { AssumedPrice, Budget, BudgetDefinition, UnknownPrice } from './limits/budget.ts';
export { DEFAULT_NO_PROGRESS, type NoProgress, type NoProgressPattern } from './limits/guard.ts';
export type { BackgroundOptions, BackgroundSettings } from './tasks/background.ts';
export { RUN_IN_BACKGROUND } from './tasks/background.ts';
export { hasEnded } from './tasks/control.ts';
export { inProcessTasks } from './tasks/in-process.ts';
export type { PollOptions, TaskControl, TaskEnd, TaskSnapshot, TaskStatus } from './tasks/control.ts';
export type {
  TaskFacts,
  TaskHandle,
  TaskOutcome,
  TaskOutput,
  TaskRequest,
  TaskRunner,
  TaskState,
  TaskWatch,
} from './tasks/task.ts';
export * from './projections/conversations.ts';
export * from './projections/cost-table.ts';
export * from './projections/generated-files.ts';
export * from './projections/rewind.ts';
export * from './projections/run-log.ts';
export * from './projections/run-result.ts';
export * from './projections/session-tree.ts';
export * from './projections/session-tree-queries.ts';
export type { Spending } from './projections/spending.ts';
export * from './projections/title.ts';
export * from './projections/transcript.ts';
export * from './projections/transcript-format.ts';
export * from './projections/todo.ts';
export * from './projections/plan.ts';
export * from './tools/user-questions.ts';
export type { TitleOptions, TitleSettings } from './titles/options.ts';
export { type Run } from './run.ts';
export { handoffTool, type HandoffOptions } from './subagents/handoff.ts';
export { agentTool, agentsTool } from './subagents/tool.ts';
export type { AgentToolOptions, SubAgentDefinition, SubAgentDefinitions, SubAgentOptions } from './subagents/tool.ts';
export type { AgentSubAgents, SubAgentLimits } from './subagents/limits.ts';
export * from './session.ts';
export { promoteBranch, runBranches, type BranchesRun } from './branches.ts';
export type { BranchConfig, BranchesOptions } from './branches-run.ts';
export type { BranchEnd, BranchesEnded, BranchesStarted, BranchRef } from './events/branches.ts';
export type {
  BranchOutcome,
  BranchStrategy,
  Evaluation,
  EvaluationBudget,
  EvaluationContext,
} from './branches/outcome.ts';
export * from './branches/strategies.ts';
export { llmJudge, pairwiseJudge, type JudgeOptions } from './branches/judge.ts';
export type { WorkingCopies, WorkingCopy } from './branches/working-copy.ts';
export { openLatest, sessionsOf, type ForkOptions, type LatestOptions, type Sessions } from './sessions.ts';
export * from './sessions-again.ts';
export * from './sessions-family.ts';
export * from './sessions-again-input.ts';
export * from './answer-tokens.ts';
export { replaySession, type ReplayMiss, type ReplayOptions, type ReplayReport } from './sessions-replay.ts';
export type { ReplayDifference } from './sessions-record.ts';
export type { SearchOptions, SessionHit } from './sessions-search.ts';
export type { CompactedEvent } from './session-compact.ts';
export type { ApprovalAnswer } from './session-answers.ts';
export type { QueuedMessage } from './session-queue.ts';
export * from './loop/pending.ts';
export { resultsProblem, type ResultsProblem } from './loop/plan-answers.ts';
export { openState, type OpenedState } from './loop/snapshot-keeper.ts';
export { initialState, type SessionState } from './loop/state.ts';
export { reduce } from './loop/reduce.ts';
export { plan } from './loop/plan.ts';
export type { Step } from './loop/step.ts';
export type { Observer } from './loop/hub.ts';
