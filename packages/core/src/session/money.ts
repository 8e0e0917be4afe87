import type { Agent } from '../agent/agent.ts';
import { TreadleError } from '../errors.ts';
import type { Journal } from '../journal/journal.ts';
import { asBudgetDecision } from '../kernel/services/money.ts';
import { limitsOf } from '../kernel/services/run-limits.ts';
import type { SessionState } from '../kernel/state.ts';
import { spawnKey } from '../features/subagents/child-log.ts';
import type { ChildCall } from '../features/subagents/child.ts';
import { createPurse, type Purse } from '../ports/purse.ts';
import { taskIdOf } from '../features/background/delivery.ts';
import { hasEnded } from '../tools/task-control.ts';

/** What sub-agents draw on: the money of the runs of a session. */
export interface SessionMoney {
  /** For the sub-agent of a call; null when the money of its run isn't limited. */
  purseOf(call: ChildCall): Promise<Purse | null>;
  /** What sub-agents in the background hold of a run's money, and its own account doesn't have. */
  held(runId: string): number;
  /** The run is about to set so much aside for a call of its own: the log doesn't say it yet. */
  claim(key: string, amount: number): void;
  /** What a background task's sub-agent has spent or set aside. */
  heldBy(taskId: string): number;
}

interface TaskPurse {
  readonly runId: string;
  readonly purse: Purse;
}

/** The session whose money it is: its agent may become another. */
interface Spender {
  readonly agent: Agent;
  readonly state: SessionState;
  readonly journal: Journal;
}

export function sessionMoney(parts: Spender): SessionMoney {
  // Its state is asked for each time: a session that rests has none.
  const { journal } = parts;
  /** One for all sub-agents that a turn waits for: its run spends nothing else meanwhile. */
  let ofTurn: { readonly runId: string; readonly turnIndex: number; readonly purse: Promise<Purse | null> } | null =
    null;
  let turnHeld = (): number => 0;
  const ofTasks = new Map<string, TaskPurse>();
  let claimed: { readonly key: string; readonly amount: number } | null = null;

  /** What a run may cost, and has cost by its own account. */
  function accountOf(runId: string): { readonly limit: number; readonly spent: number } {
    const { run } = parts.state;
    if (run?.runId === runId) return { limit: limitsOf(run, parts.agent).maxCost, spent: run.limits.spent };
    for (const task of parts.state.tasks?.all.values() ?? []) {
      if (task.runId === runId && task.account) {
        const { maxCost = parts.agent.limits.maxCost, spent } = task.account;
        return { limit: maxCost ?? Infinity, spent };
      }
    }
    return { limit: parts.agent.limits.maxCost, spent: 0 };
  }

  /** Of each task of the run that its account doesn't have. */
  function held(runId: string): number {
    let sum = 0;
    for (const task of parts.state.tasks?.all.values() ?? []) {
      if (task.runId === runId && task.isPaid !== true) sum += heldBy(task.taskId);
    }
    return sum;
  }

  const heldBy = (taskId: string): number =>
    ofTasks.get(taskId)?.purse.held ?? parts.state.tasks?.all.get(taskId)?.childSpent ?? 0;

  /** What the run itself has set aside, and those whom its open turn waits for. */
  function heldByRun(runId: string): number {
    const { run } = parts.state;
    if (run?.runId !== runId) return 0;
    const { reservation } = run.limits;
    const isTold = claimed === null || reservation?.key === claimed.key || parts.state.settled?.key === claimed.key;
    const own = (reservation?.reserved ?? 0) + (isTold ? 0 : (claimed?.amount ?? 0));
    return own + (ofTurn?.runId === runId && ofTurn.turnIndex === run.turn?.index ? turnHeld() : 0);
  }

  function left(runId: string): number {
    const { limit, spent } = accountOf(runId);
    return limit - spent - heldByRun(runId) - held(runId);
  }

  async function turnPurse(runId: string): Promise<Purse | null> {
    const { run } = parts.state;
    const { limit, spent } = accountOf(runId);
    if (limit === Infinity) return null;
    const everHeld = (): number =>
      [...ofTasks.values()].reduce((sum, task) => (task.runId === runId ? sum + task.purse.held : sum), 0);
    const [atFirst, before] = [limit - spent - held(runId), everHeld()];
    // Its own sub-agents' ends are no less in the purse for being in the account too.
    const purse = createPurse(() => atFirst - (everHeld() - before));
    for (const { childSessionId, callId, status } of run?.turn?.calls ?? []) {
      if (childSessionId !== null && status !== 'ended') await drawBefore(journal, childSessionId, callId, purse);
    }
    turnHeld = () => purse.held;
    return purse;
  }

  async function taskPurse({ runId, callId, childSessionId }: ChildCall): Promise<Purse | null> {
    const taskId = taskIdOf(callId);
    const known = ofTasks.get(taskId);
    if (known) return known.purse;
    if (accountOf(runId).limit === Infinity) return null;
    const purse: Purse = createPurse(() => left(runId) + purse.held);
    ofTasks.set(taskId, { runId, purse });
    await drawBefore(journal, childSessionId, callId, purse);
    return purse;
  }

  return {
    purseOf(call) {
      if (call.background) return taskPurse(call);
      const { runId, turnIndex } = call;
      if (ofTurn?.runId !== runId || ofTurn.turnIndex !== turnIndex) {
        turnHeld = () => 0;
        ofTurn = { runId, turnIndex, purse: turnPurse(runId) };
      }
      return ofTurn.purse;
    },
    held,
    heldBy,
    claim(key, amount) {
      claimed = { key, amount };
    },
  };
}

/** What a task's end says its sub-agent has spent; nothing where its money isn't limited. */
export function childSpentBy(
  { money, state }: { readonly money: SessionMoney | null; readonly state: SessionState },
  taskId: string,
): { readonly childSpent?: number } {
  const task = state.tasks?.all.get(taskId);
  const spent = task && !hasEnded(task.status) ? (money?.heldBy(taskId) ?? 0) : 0;
  return spent > 0 ? { childSpent: spent } : {};
}

/** Takes what a call's sub-agent, and those below it, have spent and set aside. */
async function drawBefore(journal: Journal, sessionId: string, callId: string, purse: Purse): Promise<void> {
  const below: { readonly sessionId: string; readonly callId: string }[] = [];
  let asked = false;
  try {
    for await (const event of journal.read(sessionId, 1)) {
      if (event.type === 'input_received' && event.key === spawnKey(callId)) asked = true;
      if (!asked) continue;
      if (event.type === 'tool_started' && event.childSessionId !== undefined)
        below.push({ sessionId: event.childSessionId, callId: event.callId });
      else if (event.type === 'budget_settled') purse.settle(event.key, event.cost);
      else if (event.type === 'decision_made' && event.kind === 'budget') {
        const decided = asBudgetDecision(event.decision);
        // What is set aside and not settled may have been spent.
        if (decided.granted && !purse.reserve(event.key, decided.reserved)) purse.settle(event.key, decided.reserved);
      }
    }
  } catch (error) {
    // Its call was started, and it never came to be.
    if (!(error instanceof TreadleError) || error.code !== 'session_not_found') throw error;
  }
  for (const child of below) await drawBefore(journal, child.sessionId, child.callId, purse);
}
