// Options and parts of the other features: hooks, guardrails, routing, memory, secrets, background tasks, titles.
export * from '../agent/agent-tool.ts';
export { DEFAULT_CONCURRENCY } from '../agent/agent.ts';
export * from '../agent/definition.ts';
export * from '../session/verbs/answer-tokens.ts';
export {
  type BackgroundOptions,
  type BackgroundSettings,
  RUN_IN_BACKGROUND,
} from '../features/background/background.ts';
export * from '../features/background/in-process.ts';
export type { TaskState } from '../features/background/task.ts';
export type { BudgetDefinition } from '../features/budget/options.ts';
export * from '../features/files/memory.ts';
export * from '../features/files/sweep.ts';
export type {
  AnswerContext,
  AnswerVerdict,
  NamedOutputGuardrail,
  OutputGuardrail,
} from '../features/guardrails/output.ts';
export type {
  FilterContext,
  FilterVerdict,
  InputGuardrail,
  NamedInputGuardrail,
} from '../features/guardrails/input.ts';
export { type HandoffOptions, handoffTool } from '../features/handoff/handoff.ts';
export * from '../features/hooks/hook.ts';
export type { HookRegistry } from '../features/hooks/registry.ts';
export { DEFAULT_LOOP_DETECTION, type LoopDetection } from '../features/limits/loop-detection.ts';
export * from '../features/memory/memory.ts';
export * from '../features/memory/words.ts';
export { isNoCallReminder, type RequireToolCall } from '../features/output/no-call.ts';
export type { OutputMode, OutputOptions, StructuredOutput } from '../features/output/structured.ts';
export type {
  ChooseModel,
  Range,
  Route,
  RouteCondition,
  Routing,
  RoutingChoice,
  RoutingFacts,
  RoutingOptions,
} from '../features/routing/routing.ts';
export * from '../features/secrets/guard.ts';
export { createRedactor, type Redactor, type RedactorStream } from '../features/secrets/redactor.ts';
export * from '../features/secrets/spellings.ts';
export type { AgentSubAgents, SubAgentLimits } from '../features/subagents/limits.ts';
export type { TitleOptions, TitleSettings } from '../features/titles/options.ts';
export type { TurnContextOptions, TurnContextProvider, TurnFacts } from '../features/turn-context/turn-context.ts';
