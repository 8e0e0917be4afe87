// Options and parts of the other features: hooks, guardrails, routing, memory, secrets, background tasks, titles.
export * from '../agent/agent-tool.ts';
export { DEFAULT_CONCURRENCY } from '../agent/agent.ts';
export * from '../agent/definition.ts';
export * from '../session/verbs/answer-tokens.ts';
export * from '../features/background/in-process.ts';
export type { TaskState } from '../features/background/task.ts';
export * from '../features/files/memory.ts';
export * from '../features/files/sweep.ts';
export type { AnswerContext, AnswerVerdict, NamedOutputGuardrail } from '../features/guardrails/output.ts';
export type { FilterContext, FilterVerdict, NamedInputGuardrail } from '../features/guardrails/input.ts';
export type { HandoffOptions } from '../features/handoff/handoff.ts';
export { checkMatchers } from '../features/hooks/check-matchers.ts';
export * from '../features/hooks/hook.ts';
export { DEFAULT_LOOP_DETECTION } from '../features/limits/loop-detection.ts';
export * from '../features/memory/memory.ts';
export * from '../features/memory/words.ts';
export { isNoCallReminder } from '../features/output/no-call.ts';
export type { OutputMode } from '../features/output/structured.ts';
export { checkUpdates } from '../features/permissions/check-updates.ts';
export { updatesOf } from '../features/permissions/decision.ts';
export { applyUpdate, type SessionPermissions } from '../features/permissions/updates.ts';
export type {
  ChooseModel,
  Range,
  Route,
  RouteCondition,
  RoutingChoice,
  RoutingFacts,
} from '../features/routing/routing.ts';
export { withModel } from '../features/routing/routing.ts';
export * from '../features/secrets/guard.ts';
export { createRedactor, type Redactor, type RedactorStream } from '../features/secrets/redactor.ts';
export * from '../features/secrets/spellings.ts';
export type { ToolSearchOptions } from '../features/tool-search/options.ts';
export type { TurnContextProvider, TurnFacts } from '../features/turn-context/turn-context.ts';
