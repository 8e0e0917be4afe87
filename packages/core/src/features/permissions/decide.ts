import { errorText } from '../../errors.ts';
import { copyJson, type JsonObject, type JsonValue } from '../../json.ts';
import { askCallback, type CanUseTool, type PermissionAnswer } from './callback.ts';
import type { PermissionDecision } from './decision.ts';
import { evaluate, type CallSubject, type DecidedBy, type Verdict } from './evaluate.ts';
import { policyOf } from './policy.ts';
import { subjectOf } from './subject.ts';
import { suggestUpdates } from './suggest.ts';
import { isFileUpdate } from './updates.ts';
import type { PermissionUpdate } from '../../events/permission-updates.ts';
import type { Tool } from '../../tools/tool.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { hookReason, isAllowedByHook } from './plan.ts';
import type { Question } from '../../kernel/services/question.ts';
import type { CallState } from '../../kernel/state.ts';

type AskVerdict = Extract<Verdict, { outcome: 'ask' }>;

/** A call that is being decided on. */
interface Case {
  readonly context: PerformContext;
  readonly signal: AbortSignal;
  readonly call: CallState;
  readonly tool: Tool;
  readonly runId: string;
  readonly turnIndex: number;
  /** How often a callback has been asked about it here. Absent: once. */
  readonly rounds?: number;
}

/**
 * Decides whether a call may run. Undefined when a person is asked: what they answer comes back here in its time, with
 * the rules looked at again.
 */
export async function askPermission(
  context: PerformContext,
  question: Extract<Question, { type: 'permission' }>,
  signal: AbortSignal,
): Promise<JsonValue | undefined> {
  const { run } = context.state;
  const call = run?.turn?.calls.find(({ callId }) => callId === question.callId);
  const tool = call && context.agent.tools.get(call.name);
  if (!run?.turn || !call || !tool) return no({ type: 'gate' }, 'The call is gone') as unknown as JsonValue;
  const one: Case = { context, signal, call, tool, runId: run.runId, turnIndex: run.turn.index };
  // A gate that fails says no.
  const decision = await (call.decision === null ? decideCall(one) : settle(one, answerOf(call), PERSON)).catch(
    (thrown: unknown) => no({ type: 'gate' }, `The decision failed: ${errorText(thrown)}`),
  );
  return decision as unknown as JsonValue | undefined;
}

const PERSON: DecidedBy = { type: 'person' };
const HOOK: DecidedBy = { type: 'hook' };
const CALLBACK: DecidedBy = { type: 'callback' };

const no = (by: DecidedBy, reason: string): PermissionDecision => ({ outcome: 'deny', by, reason });

/** What rules and mode say of the call with these arguments, or the answer to it when nothing can come of it. */
async function judged(
  { context, call, tool }: Case,
  args: JsonObject,
): Promise<{ readonly verdict: Verdict; readonly subject: CallSubject } | { readonly problem: string }> {
  const { agent, state } = context;
  const outcome = await subjectOf(tool, copyJson(args), context, hookReason(state, call.callId));
  if (!outcome.ok) return outcome;
  const { subject } = outcome;
  return { subject, verdict: evaluate(policyOf(agent.permissions, state.permissions), subject) };
}

async function decideCall(one: Case): Promise<PermissionDecision | undefined> {
  const { call } = one;
  const judgement = await judged(one, call.arguments);
  if ('problem' in judgement) return { outcome: 'invalid', by: { type: 'gate' }, reason: judgement.problem };
  const { verdict, subject } = judgement;
  if (verdict.outcome !== 'ask') return verdict;
  // A rule that wants a person to be asked stands above a hook.
  if (!verdict.explicit && isAllowedByHook(one.context.state, call.callId))
    return { outcome: 'allow', by: HOOK, reason: 'A hook allowed it' };
  const said = await askRequestHooks(one, verdict);
  return said !== null ? said : askSomebody(one, call.arguments, verdict, subject);
}

/** Hooks hear that somebody is about to be asked, and may answer instead. */
async function askRequestHooks(one: Case, { reason }: AskVerdict): Promise<PermissionDecision | null | undefined> {
  const { context, signal, call, runId, turnIndex } = one;
  const { agent, state } = context;
  if (!agent.hooks?.has('permission_request', call.name)) return null;
  const { callId, name: toolName, arguments: args } = call;
  const common = { sessionId: state.sessionId, agentId: agent.id, runId };
  const said = await context.services.askHooks(
    agent.hooks,
    { event: 'permission_request', ...common, turnIndex, toolName, callId, arguments: args, reason },
    context.services.hookEnvironment(context, signal, runId),
  );
  if (said.endRun !== undefined) return { ...no({ type: 'hook' }, said.endRun), interrupt: true };
  if (said.decision === 'allow')
    return settle(one, { allow: true, input: said.input ?? null, updates: [] }, HOOK, args);
  return said.decision === 'deny' ? no(HOOK, said.reason ?? 'A hook said no') : null;
}

function askSomebody(
  one: Case,
  args: JsonObject,
  verdict: AskVerdict,
  subject: CallSubject,
): Promise<PermissionDecision | undefined> {
  const { canUseTool } = one.context.agent.permissions;
  return canUseTool ? askProgram(one, canUseTool, args, verdict, subject) : askPerson(one, args, verdict, subject);
}

async function askProgram(
  one: Case,
  canUseTool: CanUseTool,
  args: JsonObject,
  { reason, rule }: AskVerdict,
  { access }: CallSubject,
): Promise<PermissionDecision | undefined> {
  const { context, signal, call, tool, runId } = one;
  const { callbackTimeoutMs: timeoutMs, allowBypass } = context.agent.permissions;
  const since = context.clock.now();
  context.asking += 1;
  const answer = await askCallback(
    {
      canUseTool,
      timeoutMs,
      allowBypass,
      clock: context.clock,
      signal,
      warn: (message) => warnDeveloper(one, message),
    },
    tool.name,
    copyJson(args),
    {
      sessionId: context.state.sessionId,
      runId,
      callId: call.callId,
      label: tool.label,
      reason,
      rule,
      access,
      suggestions: suggestUpdates(tool.name, access),
    },
  ).finally(() => {
    context.asking -= 1;
  });
  const decision = await settle(one, answer, CALLBACK, args);
  const waitedMs = context.clock.now() - since;
  // A program's answer takes no time worth a word.
  return decision && waitedMs >= PERSON_MS ? { ...decision, waitedMs } : decision;
}

/** Milliseconds from which on it was a person. */
const PERSON_MS = 1_000;

/** Observers are told, and whoever looks at the console. */
function warnDeveloper({ context, signal, runId }: Case, message: string): void {
  context.services.hookEnvironment(context, signal, runId).warn('permission_callback_failed', message);
  context.hub.report(new Error(message));
}

/** The question goes into the log, and the run pauses on it: whoever answers may be in another process, on another day. */
async function askPerson(
  { context, signal, call, tool, runId, turnIndex }: Case,
  args: JsonObject,
  { reason, rule }: AskVerdict,
  { access }: CallSubject,
): Promise<undefined> {
  // A tool that took its time to say what the call touches may outlive the run: nothing more is written about it then.
  if (signal.aborted) return;
  const suggestions = suggestUpdates(tool.name, access);
  const at = context.clock.now();
  const { answerTimeoutMs } = context.agent.permissions;
  const approvalId = `permission_${call.callId}${call.asked === 0 ? '' : `_${call.asked + 1}`}`;
  await context.log.record([
    {
      type: 'approval_requested',
      at,
      runId,
      turnIndex,
      approvalId,
      callId: call.callId,
      toolName: call.name,
      arguments: args,
      question: `${reason}. May it run?`,
      ...(rule === null ? {} : { rule }),
      ...(suggestions.length === 0 ? {} : { suggestions }),
      ...(answerTimeoutMs === null ? {} : { expiresAt: at + answerTimeoutMs }),
    },
  ]);
}

function answerOf({ decision, decisionMessage, answer }: CallState): PermissionAnswer {
  const updates = answer?.updatedPermissions ?? [];
  if (decision === 'approve') return { allow: true, input: answer?.updatedInput ?? null, updates };
  const message = decisionMessage ?? 'The user said no.';
  return { allow: false, message, interrupt: answer?.interrupt === true, updates };
}

/** Makes an answer a decision: what it allows is held against the rules again, with the arguments it was given for. */
async function settle(
  one: Case,
  answer: PermissionAnswer,
  by: DecidedBy,
  asked: JsonObject = one.call.askedArguments ?? one.call.arguments,
): Promise<PermissionDecision | undefined> {
  const { updates } = answer;
  const said = updates.length === 0 ? {} : { updates };
  if (!answer.allow) {
    await keep(one, updates);
    return { ...no(by, answer.message), ...said, ...(answer.interrupt ? { interrupt: true } : {}) };
  }
  const args = answer.input ?? asked;
  const judgement = await judged(one, args);
  if ('problem' in judgement) return no(by, `What the answer made of the call can't be run. ${judgement.problem}`);
  const { verdict, subject } = judgement;
  const isChanged = !sameJson(args, asked);
  // Nobody is asked in the mode dontAsk; who was asked before it was set may have answered all the same.
  const isSilent = verdict.outcome === 'deny' && verdict.by.type === 'mode' && verdict.by.mode === 'dontAsk';
  if (verdict.outcome === 'deny' && !(isSilent && !isChanged)) return verdict;
  if (verdict.outcome === 'ask' && verdict.explicit && isChanged) return askAgain(one, args, verdict, subject);
  await keep(one, updates);
  const changed = sameJson(args, one.call.arguments) ? {} : { arguments: args };
  const confined = verdict.outcome !== 'deny' && verdict.confined === true ? { confined: true } : {};
  return { outcome: 'allow', by, reason: 'It was allowed when asked', ...changed, ...said, ...confined };
}

/** Changed arguments are another question, also when the answer changed them. A callback that goes on changing is a no. */
function askAgain(
  one: Case,
  args: JsonObject,
  verdict: AskVerdict,
  subject: CallSubject,
): Promise<PermissionDecision | undefined> | PermissionDecision {
  const rounds = one.rounds ?? 1;
  if (rounds === MAX_ROUNDS) return no(CALLBACK, 'The permission callback changed the call each time it was asked');
  return askSomebody({ ...one, rounds: rounds + 1 }, args, verdict, subject);
}

const MAX_ROUNDS = 3;

/** Hands what is for settings files to whoever keeps them. Failing is a warning: the session knows it in any case. */
async function keep({ context, signal, runId }: Case, updates: readonly PermissionUpdate[]): Promise<void> {
  const { saveUpdate } = context.agent.permissions;
  for (const update of updates.filter(isFileUpdate)) {
    try {
      if (!saveUpdate) throw new Error('this agent keeps no settings files');
      await saveUpdate(update, signal);
    } catch (thrown) {
      context.services
        .hookEnvironment(context, signal, runId)
        .warn(
          'permission_not_saved',
          `The permission was not saved in ${update.destination}, and holds for this session only: ${errorText(thrown)}.`,
        );
    }
  }
}

/** Both come from JSON, and the order of keys says nothing. */
function sameJson(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const a: readonly [string, JsonValue | undefined][] = Object.entries(one);
  const b = new Map<string, JsonValue | undefined>(Object.entries(other));
  return a.length === b.size && a.every(([key, value]) => b.has(key) && sameJson(value, b.get(key)));
}
