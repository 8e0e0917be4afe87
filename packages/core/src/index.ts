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
export * from './ports/validator.ts';
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
export type { ContextOptions } from './features/compaction/options.ts';
export { pruneOldest, slidingWindow, summarising } from './features/compaction/strategies.ts';
export { memoryBlobs } from './features/files/memory.ts';
export type { OutputGuardrail } from './features/guardrails/output.ts';
export type { InputGuardrail } from './features/guardrails/input.ts';
export { handoffTool } from './features/handoff/handoff.ts';
export { defineHook, type Hook, type HookEvent, type HookInput, type HookResult } from './features/hooks/hook.ts';
export type { LoopDetection } from './features/limits/loop-detection.ts';
export type { Memory, MemoryOptions } from './features/memory/memory.ts';
export type { RequireToolCall } from './features/output/no-call.ts';
export type { OutputOptions } from './features/output/structured.ts';
export type { CanUseTool, PermissionQuestion, PermissionResult } from './features/permissions/callback.ts';
export type { PermissionOptions } from './features/permissions/permissions.ts';
export type { RuleInput } from './features/permissions/rules/rule.ts';
export type { RoutingOptions } from './features/routing/routing.ts';
export { secretGuard } from './features/secrets/guard.ts';
export type { SubAgentLimits } from './features/subagents/limits.ts';
export type { TitleOptions } from './features/titles/options.ts';
export type { TurnContextOptions } from './features/turn-context/turn-context.ts';
export { openLatest, sessionsOf } from './history/sessions.ts';
export type { Journal } from './journal/journal.ts';
export { memoryJournal } from './journal/memory.ts';
export type { JsonObject, JsonSchema, JsonValue } from './json.ts';
export type { Observer } from './kernel/watching/hub.ts';
export type {
  AssistantContent,
  FileBlock,
  ImageBlock,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultContent,
  UserContent,
} from './messages/content.ts';
export type { AssistantMessage, Message, ModelMessage, ToolResultMessage, UserMessage } from './messages/message.ts';
export type {
  CacheHints,
  Model,
  ModelError,
  ModelErrorKind,
  ProviderToolDefinition,
  ResponseFormat,
  ThinkingLevel,
} from './model/model.ts';
export type { RetryPolicy } from './model/retry.ts';
export type { StopReason, Usage } from './model/usage.ts';
export type { Blobs } from './ports/blobs.ts';
export { type Clock, systemClock } from './ports/clock.ts';
export type { Http } from './ports/http.ts';
export { type Ledger, memoryLedger } from './ports/ledger.ts';
export type { PermissionDenial, RunResult, StopToolCall } from './projections/run-result.ts';
export type { ApprovalAnswer } from './session/verbs/answers.ts';
export type { CreateSessionOptions, RunOptions, Session, SessionOptions } from './session/api.ts';
export type { PromptInput, UserInput } from './session/input.ts';
export type { QueuedMessage } from './session/verbs/queue.ts';
export type { Run } from './session/run.ts';
export { createSession, openSession } from './session/session.ts';
export type { ToolArguments } from './tools/define/define-types.ts';
export { defineTool, type ToolOptions } from './tools/define/define.ts';
export type { StandardSchema } from './tools/define/standard-schema.ts';
export type { OfferedTool } from './tools/offered-tool.ts';
export type { ReplayPolicy, Tool, ToolContext, ToolOutput, ToolResult, ToolReturn } from './tools/tool.ts';
export { answerQuestions, userQuestions } from './tools/user-questions.ts';
