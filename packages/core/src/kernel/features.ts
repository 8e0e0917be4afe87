import type { Agent } from '../agent/agent.ts';
import type { DurableEventBody, ViewPart } from '../events/events.ts';
import type { JsonValue } from '../json.ts';
import { expireCalls, takeAnswers } from '../features/approvals/plan.ts';
import { reviveTasks, startTasks, stopTasks } from '../features/background/perform.ts';
import { planTasks, taskResults, waitsForTasks, wakeUp } from '../features/background/plan.ts';
import { planBranches, startBranches } from '../features/branches/plan.ts';
import { reserveBudget } from '../features/budget/decide.ts';
import {
  budgetOf,
  gateBudget,
  isMoneyLimited,
  overspent,
  settleAtEnd,
  settleOpen,
  settleStray,
} from '../features/budget/plan.ts';
import { compact } from '../features/compaction/perform.ts';
import { gateCompaction, planIdleCompaction } from '../features/compaction/plan.ts';
import { keepFiles } from '../features/files/perform.ts';
import { filesDue } from '../features/files/plan.ts';
import { decideAnswer, decideInput } from '../features/guardrails/decide.ts';
import { withWarnings } from '../features/guardrails/input.ts';
import { checkGate, filterGate, gateDelivery } from '../features/guardrails/plan.ts';
import { decideHandoff } from '../features/handoff/decide.ts';
import { planHandoff } from '../features/handoff/plan.ts';
import { askHooks } from '../features/hooks/ask.ts';
import { askHook, hookEnvironment } from '../features/hooks/decide.ts';
import { lastRead } from '../features/files/last-read.ts';
import {
  afterHooks,
  callHooks,
  deliverNotes,
  sessionStart,
  startHooks,
  stopHook,
  turnHooks,
} from '../features/hooks/plan.ts';
import { cutTwice } from '../features/limits/cut-off.ts';
import {
  closingMessage,
  continueCutReply,
  limitBefore,
  detectLoop,
  refuseCalls,
  stoppedForSize,
  warnings,
  withinLimit,
} from '../features/limits/plan.ts';
import { askMemory, updateMemory } from '../features/memory/decide.ts';
import { tellMemory } from '../features/memory/compaction.ts';
import { afterClosing, memoryGate, memoryUpdate, remembered } from '../features/memory/plan.ts';
import { decideOutput } from '../features/output/decide.ts';
import { noCallRejected } from '../features/output/no-call.ts';
import { outputGate, outputOf, outputSpent, remindOfCalls } from '../features/output/plan.ts';
import { askPermission } from '../features/permissions/decide.ts';
import { notHeldBack, permissionGate, refusal } from '../features/permissions/plan.ts';
import { decideRouting } from '../features/routing/decide.ts';
import { askRouting, routedModel } from '../features/routing/plan.ts';
import { refuseChildren, stopOpenChildren } from '../features/subagents/plan.ts';
import {
  CHILD_GRACE_MS,
  childExecution,
  childIn,
  inBackground,
  stopChildren,
} from '../features/subagents/run-children.ts';
import { decideTurnContext } from '../features/turn-context/decide.ts';
import { askTurnContext, turnContext } from '../features/turn-context/plan.ts';
import type { BetweenTurns, FinishGate } from './between-turns.ts';
import type { PerformContext } from './context.ts';
import type { CallGate } from './plan/call-gate.ts';
import type { LimitHit } from './services/limits.ts';
import type { Question, SessionSource } from './services/question.ts';
import { instructionsOf } from '../features/turn-context/instructions.ts';
import type { Start } from './plan/start.ts';
import type { CallState, InboxEntry, RunState, SessionState, SucceededCall, TurnState } from './state.ts';
import type { Step } from './step.ts';

// Who acts when. Each list is a moment of the plan, and its members are asked in their order: the first step wins, and
// events that are added join in the order of the list. A feature stands in these lists and in `folds.ts`, and nowhere else
// in the kernel.

type Events = readonly DurableEventBody[];
type OpenTurn = readonly [state: SessionState, run: RunState, turn: TurnState, agent: Agent, now: number];

/** Before all else, whether a run is open or not. */
export const ALWAYS: readonly ((state: SessionState, agent: Agent, now: number) => Step | null)[] = [planTasks];

/** Every planned step passes through these. */
export const AMENDMENTS: readonly ((state: SessionState, step: Step, now: number) => Step)[] = [settleAtEnd];

/** An input waits, or something else wants a run, and no run is open. */
export const WAKES: readonly ((state: SessionState, agent: Agent) => InboxEntry | null)[] = [wakeUp];

/** Inputs that start no ordinary run. */
export const IDLE_INPUTS: readonly ((
  state: SessionState,
  agent: Agent,
  entry: InboxEntry,
  now: number,
) => Step | null)[] = [planIdleCompaction, startBranches];

/** A run is about to start: each asks, refuses it, or has nothing against it. */
export const START_GATES: readonly ((start: Start) => Step | null)[] = [
  filterGate,
  /* @__PURE__ */ startHooks('user_prompt_submit'),
  /* @__PURE__ */ startHooks('before_run'),
  memoryGate,
];

/** Whether somebody has a say about turns: then a run starts in an append of its own. */
export const ASKS_ABOUT_TURNS: readonly ((state: SessionState, agent: Agent) => boolean)[] = [
  (_, { hooks }) => hooks?.has('before_turn') === true,
  (_, agent) => agent.turnContext !== null,
  (_, agent) => agent.routing !== null,
  ({ inbox }, agent) => agent.inputGuardrails !== null && inbox.some(({ input }) => input.type === 'steering'),
];

/** Whether what no gate has seen must be kept from the history, when a run is cancelled before it starts. */
export const holdsInputBack = (agent: Agent): boolean => agent.inputGuardrails !== null;

/** What the model is told at the start of a run by others than the user. */
export const RUN_CONTEXT: readonly ((
  state: SessionState,
  agent: Agent,
  run: { readonly runId: string; readonly inputSeq: number },
  at: number,
) => Events)[] = [instructionsOf, remembered];

/** Why the open run is over. */
export const STOPS: readonly ((run: RunState, agent: Agent) => LimitHit | null)[] = [overspent, stoppedForSize];

/** What is to be ended before an open run may be stopped. */
export const STOPPING: readonly ((state: SessionState, turn: TurnState, reason: string) => Step | null)[] = [
  stopOpenChildren,
];

/** Who does the work of an open run in place of turns. */
export const INSTEAD_OF_TURNS: readonly ((run: RunState, agent: Agent, now: number) => Step | LimitHit | null)[] = [
  planBranches,
];

// Turns

/** The last turn has ended: why the run ends with it. */
export const ENDS_RUN: readonly ((between: BetweenTurns) => Extract<FinishGate, { type: 'end' }> | null)[] = [
  outputSpent,
  cutTwice,
];

/** A call of a stop tool is about to end the run. */
export const ENDING_CALL: (
  between: BetweenTurns,
  call: SucceededCall,
) =>
  | { readonly type: 'first'; readonly step: Step }
  | { readonly type: 'over'; readonly to: { readonly agentId: string; readonly view?: readonly ViewPart[] } }
  | null = planHandoff;

/** What the model is told of a reply that should have been another. */
export const REMINDERS: readonly ((between: BetweenTurns) => Events)[] = [remindOfCalls];

/** Whether the run gets anywhere. */
export const stuckIn = detectLoop;

/** The run would end: what makes it go on. */
export const CONTINUES: readonly ((between: BetweenTurns) => DurableEventBody | null)[] = [continueCutReply];

/** The run would end well. */
export const FINISH_GATES: readonly ((between: BetweenTurns) => FinishGate | null)[] = [
  outputGate,
  checkGate,
  stopHook,
  memoryUpdate,
];

/** The run would end at a limit, after its closing call. */
export const CLOSING_GATES: readonly ((between: BetweenTurns) => FinishGate | null)[] = [afterClosing];

/** What the end of a run says. */
export const endFacts = outputOf;

/** The limits that keep a run from its next turn. */
export const turnLimit = { before: limitBefore, closingMessage };

/** The next turn is about to start, with what the prompt still has to say and what was queued. */
export const TURN_GATES: readonly ((between: BetweenTurns, prompt: Events, messages: Events) => Step | null)[] = [
  gateDelivery,
  turnHooks,
  askTurnContext,
  askRouting,
];

/** Which model the next turn asks. */
export const modelOfTurn = routedModel;

/** What a turn starts with, before the prompt and after it. */
export const BEFORE_PROMPT: readonly ((between: BetweenTurns) => Events)[] = [turnContext];
export const AFTER_PROMPT: readonly ((between: BetweenTurns) => Events)[] = [warnings];
/** What a turn starts with, last of all. */
export const NOTES: readonly ((state: SessionState, runId: string, at: number) => Events)[] = [deliverNotes];

/** What joins the view before a model call, ahead of what the queue delivers. */
export const RESULTS: readonly ((state: SessionState, runId: string, at: number) => Events)[] = [taskResults];

/** Messages of inputs on their way into the history. */
export const decorated = ({ decisions }: SessionState, messages: Events): Events => withWarnings(decisions, messages);

/** A turn is about to end. */
export const END_OF_TURN: readonly ((run: RunState, turn: TurnState, agent: Agent, now: number) => Events)[] = [
  noCallRejected,
];

// The model call

/** Before the model is called: the view, then the money. */
export const VIEW_GATES: readonly ((...turn: OpenTurn) => Step | null)[] = [gateCompaction];
export const CALL_GATES: readonly ((...turn: OpenTurn) => Step | null)[] = [gateBudget];

/** The money of model calls. */
export const money = { isLimited: isMoneyLimited, of: budgetOf, settleOpen, settleStray };

// Tool calls

/** What came in for calls of the open turn. */
export const ANSWERS: readonly ((state: SessionState, run: RunState, turn: TurnState, now: number) => Events)[] = [
  takeAnswers,
];

/** Who is to hear of calls that have ended. */
export const ENDED_CALLS: readonly ((
  state: SessionState,
  run: RunState,
  turn: TurnState,
  agent: Agent,
) => Step | null)[] = [afterHooks];

/** Calls that have waited too long. */
export const EXPIRED_CALLS: readonly ((run: RunState, turn: TurnState, now: number) => Events)[] = [expireCalls];

/** Calls that get their result without having run. */
export const REFUSED_CALLS: readonly ((run: RunState, turn: TurnState, agent: Agent, now: number) => Events)[] = [
  refuseCalls,
  refuseChildren,
];

/** Which of these calls may be looked at now, and how many of them may start. */
export const callOrder = { notHeldBack, withinLimit };

/** Calls are about to start. */
export const TOOL_GATES: readonly ((gate: CallGate, calls: readonly CallState[]) => Step | null)[] = [
  callHooks,
  permissionGate,
];

/** The result of a call that somebody decided against, when its turn is closed early. */
export const decidedAgainst = refusal;

/** Whether a run that would end well waits for something. */
export const HOLDS: readonly ((state: SessionState, agent: Agent) => boolean)[] = [waitsForTasks];

/** A run is about to end. */
export const BEFORE_END: readonly ((state: SessionState, agent: Agent, keepsBlobs: boolean) => Step | null)[] = [
  filesDue,
];

/** A drive begins: what is asked before anything is planned. */
export const DRIVE_QUESTIONS: readonly ((agent: Agent, opened: SessionSource, epoch: number) => readonly Question[])[] =
  [sessionStart];

/** A drive begins: what an earlier one has left. */
export const REVIVALS: readonly ((context: PerformContext) => Promise<void>)[] = [reviveTasks];

// Decisions

/**
 * Finds the answer to a question. Never throws: whoever fails to answer is answered for, and a gate that fails says no.
 * Undefined when somebody is asked who may answer much later: what was recorded instead makes the plan wait.
 */
export type Decider<Type extends Question['type']> = (
  context: PerformContext,
  question: Extract<Question, { type: Type }>,
  signal: AbortSignal,
) => Promise<JsonValue | undefined>;

/** Who answers each type of question. */
export const DECIDERS: { readonly [Type in Question['type']]: Decider<Type> } = {
  hook: askHook,
  permission: askPermission,
  memory: askMemory,
  memory_update: updateMemory,
  filter: decideInput,
  output: decideOutput,
  check: decideAnswer,
  turn_context: decideTurnContext,
  budget: reserveBudget,
  handoff: decideHandoff,
  routing: decideRouting,
};

// Effects

type PerformedHere = 'compact' | 'keep_files' | 'start_tasks' | 'stop_tasks' | 'stop_children';

/** Who performs the steps that features plan. */
export const PERFORMERS: {
  readonly [Type in PerformedHere]: (context: PerformContext, step: Extract<Step, { type: Type }>) => Promise<void>;
} = {
  compact,
  keep_files: keepFiles,
  start_tasks: (context, { tasks }) => startTasks(context, tasks),
  stop_tasks: (context, { tasks }) => stopTasks(context, tasks),
  stop_children: stopChildren,
};

/** Who watches what is recorded. */
export { hookObservers } from '../features/hooks/hook-observers.ts';
export { ledgerSettlements, type LedgerSettlements } from '../features/budget/ledger-settlements.ts';

/** What features do to a model call: what is said of calls that were cut off, its money, and the model of the next attempt. */
export { cutCallWarning, cutCallWords } from '../features/limits/cut-off.ts';
export { meterFor, settleCall, type Spending } from '../features/budget/settle-call.ts';
export { nextModel } from '../features/routing/routing.ts';

/** What features do to tool calls: where they run, who hears of them, and what they may know. */
export { wantsBackground } from '../features/background/background.ts';
export { startPending, toBackground } from '../features/background/perform.ts';
export { checkpointer, noteInput } from '../features/files/checkpoint.ts';
export { lastRead };
export { afterQuestions } from '../features/hooks/plan.ts';
export { updateHooks } from '../features/hooks/update-hooks.ts';
export { questionEvent } from '../features/approvals/ask.ts';
export { isConfined } from '../features/permissions/plan.ts';
export {
  CHILD_GRACE_MS,
  childExecution,
  childFacts,
  childOf,
  pausedEvent,
} from '../features/subagents/run-children.ts';

/** What features do for each other, by way of the context. */
export const SERVICES = {
  askHooks,
  hookEnvironment,
  lastRead,
  tellMemory,
  children: { childIn, childExecution, inBackground, graceMs: CHILD_GRACE_MS },
} as const;

/** Tools that a model searches for, and calls by another tool. */
export { unwrapCalls } from '../features/tool-search/calls.ts';
export { deferredRequest } from '../features/tool-search/request.ts';
export { systemOf } from '../features/turn-context/plan.ts';

/** Which tools the model is offered. */
export { recallTool } from '../features/compaction/recall.ts';
export { toolsUnder } from '../features/permissions/permissions.ts';
export { policyOf } from '../features/permissions/policy.ts';

/** What features keep for as long as the session is open. */
export type { TaskDesk } from '../features/background/desk.ts';
export type { ChildRunner } from '../features/subagents/child.ts';
export type { HookEvent, HookInput } from '../features/hooks/hook.ts';
