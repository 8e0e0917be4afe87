// The front door: names that programs with agents use. Everything else is behind a subpath of its own (`entries/`).
export { agentsTool, asTool } from './agent/agent-tool.ts';
export { type Agent, defineAgent } from './agent/agent.ts';
export { type AgentTypes, isCallOf } from './agent/types.ts';
export type { AgentDefinition, QueueMode, ToolExecution } from './agent/definition.ts';
export { errorText, TreadleError, type TreadleErrorCode } from './errors.ts';
export { type DurableEvent, isDurable, type RunStatus, type TreadleEvent } from './events/events.ts';
export type { ClientToolResult } from './events/inputs.ts';
export type { LimitName, Limits } from './events/limits.ts';
export type { PermissionMode, PermissionUpdate } from './events/permission-updates.ts';
export type { PendingCall } from './events/tool-events.ts';
export { createAnswerTokens } from './session/verbs/answer-tokens.ts';
export type { BackgroundOptions } from './features/background/background.ts';
export { promoteBranch, runBranches } from './history/branches/run-branches.ts';
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
