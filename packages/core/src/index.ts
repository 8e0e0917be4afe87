export { EVENT_VERSION } from './events/version.ts';
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
} from './features/routing/routing.ts';
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
} from './ports/blobs.ts';
export type { BlobOptions } from './ports/blob-keeper.ts';
export { memoryBlobs } from './features/files/memory.ts';
export { blobIdsOf, sweepBlobs, type SweepBlobsOptions } from './features/files/sweep.ts';
export { changesFacts, factsAfter, type SessionFacts } from './journal/session-facts.ts';
export { checkTags, checkTitle } from './journal/check-facts.ts';
export * from './features/memory/memory.ts';
export { tellingWords, wordsOf } from './features/memory/words.ts';
export { createRedactor, type Redactor, type RedactorStream } from './features/secrets/redactor.ts';
export { secretSpellings } from './features/secrets/spellings.ts';
export {
  secretGuard,
  type GuardToolOptions,
  type SecretGuard,
  type SecretGuardOptions,
} from './features/secrets/guard.ts';
export * from './tools/tool.ts';
export * from './tools/access.ts';
export * from './tools/define/define.ts';
export { checkOffered } from './tools/define/check-offered.ts';
export type { OfferedTool } from './tools/offered-tool.ts';
export type { FromJsonSchema, ToolArguments, ToolParameters } from './tools/define/define-types.ts';
export type { StandardSchema, StandardResult, StandardIssue } from './tools/define/standard-schema.ts';
export { compileSchema, validateJson, type SchemaCheck } from './json-schema/validate.ts';
export type { PermissionOptions, PermissionSettings, PermissionConfig } from './features/permissions/permissions.ts';
export { DEFAULT_CALLBACK_TIMEOUT_MS } from './features/permissions/permissions.ts';
export { PERMISSION_MODES, isStricter } from './events/permission-updates.ts';
export { type PermissionMode } from './events/permission-updates.ts';
export type { RuleInput, RuleWithExamples } from './features/permissions/rules/rule.ts';
export type { RuleSource } from './events/permission-updates.ts';
export type { RuleBehavior } from './events/permission-updates.ts';
export { loadRule as checkRule } from './features/permissions/rules/load.ts';
export type { CanUseTool, PermissionQuestion, PermissionResult } from './features/permissions/callback.ts';
export type { PermissionDecision } from './features/permissions/decision.ts';
export type { DecidedBy } from './features/permissions/evaluate.ts';
export { isProtected } from './features/permissions/evaluate.ts';
export { applyUpdate, type FileUpdate, type SessionPermissions } from './features/permissions/updates.ts';
export { type PermissionUpdate, type UpdateDestination } from './events/permission-updates.ts';
export * from './ports/http.ts';
export * from './ports/clock.ts';
export * from './ports/dispatcher.ts';
export * from './ports/ids.ts';
export * from './features/hooks/hook.ts';
export type { HookRegistry } from './features/hooks/registry.ts';
export * from './features/compaction/index.ts';
export type {
  AnswerContext,
  AnswerVerdict,
  OutputGuardrail,
  NamedOutputGuardrail,
} from './features/guardrails/check.ts';
export type {
  FilterContext,
  FilterVerdict,
  InputGuardrail,
  NamedInputGuardrail,
} from './features/guardrails/filters.ts';
export type { OutputMode, OutputOptions, StructuredOutput } from './features/output/structured.ts';
export type { TurnContextOptions, TurnContextProvider, TurnFacts } from './features/turn-context/turn-context.ts';
export { isNoCallReminder, type RequireToolCall } from './features/output/no-call.ts';
export { isStopToolName, type StopToolName } from './tools/stop-tool-names.ts';
export * from './agent/agent.ts';
export * from './session/input.ts';
export { DEFAULT_LIMITS } from './kernel/services/limits.ts';
export { type LimitName, type Limits, type LimitsData } from './events/limits.ts';
export * from './ports/ledger.ts';
export type { Budget } from './kernel/services/money.ts';
export type { AssumedPrice, UnknownPrice } from './model/price.ts';
export type { BudgetDefinition } from './features/budget/options.ts';
export { DEFAULT_LOOP_DETECTION, type LoopDetection } from './features/limits/loop-detection.ts';
export { type LoopPattern } from './events/limits.ts';
export type { BackgroundOptions, BackgroundSettings } from './features/background/background.ts';
export { RUN_IN_BACKGROUND } from './features/background/background.ts';
export { hasEnded } from './tools/task-control.ts';
export { inProcessTasks } from './features/background/in-process.ts';
export type { PollOptions, TaskControl, TaskEnd, TaskSnapshot, TaskStatus } from './tools/task-control.ts';
export type { TaskState } from './features/background/task.ts';
export type {
  TaskFacts,
  TaskHandle,
  TaskOutcome,
  TaskOutput,
  TaskRequest,
  TaskRunner,
  TaskWatch,
} from './ports/task-runner.ts';
export * from './projections/conversations.ts';
export * from './projections/cost-table.ts';
export * from './projections/generated-files.ts';
export * from './projections/rewind.ts';
export * from './projections/run-log.ts';
export * from './projections/run-result.ts';
export * from './projections/tree/session-tree.ts';
export * from './projections/tree/session-tree-queries.ts';
export type { Spending } from './projections/spending.ts';
export * from './projections/title.ts';
export * from './projections/transcript.ts';
export * from './projections/transcript-format.ts';
export * from './projections/todo.ts';
export * from './projections/plan.ts';
export * from './tools/user-questions.ts';
export type { TitleOptions, TitleSettings } from './features/titles/options.ts';
export { type Run } from './session/run.ts';
export { handoffTool, type HandoffOptions } from './features/handoff/handoff.ts';
export { asTool, agentsTool } from './agent/agent-tool.ts';
export type { AgentToolOptions, SubAgentDefinition, SubAgentDefinitions, SubAgentOptions } from './agent/agent-tool.ts';
export type { AgentSubAgents, SubAgentLimits } from './features/subagents/limits.ts';
export * from './session/session.ts';
export { promoteBranch, runBranches, type BranchesRun } from './features/branches/run-branches.ts';
export type { BranchConfig, BranchesOptions } from './features/branches/perform.ts';
export type { BranchEnd, BranchesEnded, BranchesStarted, BranchRef } from './events/branches.ts';
export type {
  BranchOutcome,
  BranchStrategy,
  Evaluation,
  EvaluationBudget,
  EvaluationContext,
} from './features/branches/outcome.ts';
export * from './features/branches/strategies.ts';
export { llmJudge, pairwiseJudge, type JudgeOptions } from './features/branches/judge.ts';
export type { WorkingCopies, WorkingCopy } from './features/branches/working-copy.ts';
export { openLatest, sessionsOf, type ForkOptions, type LatestOptions, type Sessions } from './history/sessions.ts';
export * from './history/rerun.ts';
export * from './history/tree.ts';
export * from './history/rerun-input.ts';
export * from './features/approvals/answer-tokens.ts';
export { replaySession, type ReplayMiss, type ReplayOptions, type ReplayReport } from './history/replay.ts';
export type { ReplayDifference } from './history/recorded.ts';
export type { SearchOptions, SessionHit } from './history/search.ts';
export type { CompactedEvent } from './features/compaction/session.ts';
export type { ApprovalAnswer } from './session/answers.ts';
export type { QueuedMessage } from './session/queue.ts';
export * from './features/approvals/pending.ts';
export { resultsProblem, type ResultsProblem } from './features/approvals/plan.ts';
export { openState, type OpenedState } from './kernel/snapshot/keeper.ts';
export { type SessionState } from './kernel/state.ts';
export { initialState } from './kernel/reduce.ts';
export { reduce } from './kernel/reduce.ts';
export { plan } from './kernel/plan.ts';
export type { Step } from './kernel/step.ts';
export type { Observer } from './kernel/watching/hub.ts';
