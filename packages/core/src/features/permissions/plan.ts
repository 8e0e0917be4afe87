import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import type { CallGate } from '../../kernel/plan/call-gate.ts';
import { asHookDecision } from '../../kernel/services/hook-decision.ts';
import { isAsked } from '../../kernel/services/pending.ts';
import { rejectCall } from '../../kernel/plan/reject-call.ts';
import type { CallState, RunState, SessionState, TurnState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';
import { asPermissionDecision, type PermissionDecision } from './decision.ts';
import { policyOf } from './policy.ts';

const keyOf = (callId: string): string => `permission:${callId}`;

/** What permissions say to calls that are about to start; null when they may. Calls of tools that nothing restrains pass. */
export function permissionGate({ state, run, turn, agent, now }: CallGate, calls: readonly CallState[]): Step | null {
  const isAskedAbout = (call: CallState): boolean => call.status === 'requested' && needsDecision(state, agent, call);
  // Most calls need nobody's word.
  if (!calls.some(isAskedAbout)) return null;
  const asked = calls.filter(isAskedAbout);
  const open = asked.filter(({ callId }) => !state.decisions.has(keyOf(callId)));
  if (open.length > 0) {
    const place = { runId: run.runId, turnIndex: turn.index };
    return {
      type: 'decide',
      questions: open.map(({ callId }) => ({ type: 'permission', key: keyOf(callId), ...place, callId })),
    };
  }
  const refused = asked.flatMap((call) => refusal(state, run, turn, call, now) ?? []);
  return refused.length > 0 ? { type: 'record', events: refused } : null;
}

function needsDecision(state: SessionState, { permissions }: Agent, { name, callId }: CallState): boolean {
  if (!policyOf(permissions, state.permissions).free.has(name)) return true;
  return hookReason(state, callId) !== undefined;
}

/** Why a hook wants a person to decide about a call; undefined when none does. */
export function hookReason({ decisions }: SessionState, callId: string): string | undefined {
  const known = decisions.get(`before_tool:${callId}`);
  if (known === undefined) return undefined;
  const { decision, reason } = asHookDecision(known.answer);
  return decision === 'ask' ? (reason ?? 'A hook wants it to be asked for.') : undefined;
}

/** Whether a hook allowed a call, so that the mode asks nobody. */
export function isAllowedByHook({ decisions }: SessionState, callId: string): boolean {
  const known = decisions.get(`before_tool:${callId}`);
  return known !== undefined && asHookDecision(known.answer).decision === 'allow';
}

/** The result of a call that was decided against; null when it wasn't. */
export function refusal(
  state: SessionState,
  run: RunState,
  turn: TurnState,
  call: CallState,
  now: number,
): DurableEventBody | null {
  const known = state.decisions.get(keyOf(call.callId));
  if (known === undefined) return null;
  const decision = asPermissionDecision(known.answer);
  if (decision.outcome === 'allow') return null;
  if (decision.outcome === 'invalid') return rejectCall(run, turn, call, now, 'invalid_arguments', decision.reason);
  return rejectCall(run, turn, call, now, 'denied', deniedWords(call, decision));
}

/** People's own words are enough; what a rule or a mode says needs a frame. */
function deniedWords({ name }: CallState, { by, reason }: PermissionDecision): string {
  const isOwnWords = by.type === 'person' || by.type === 'callback';
  const said = isOwnWords && /[.!?…]\s*$/.test(reason) ? reason : `${reason}.`;
  // A person may want another way instead.
  const then =
    by.type === 'person'
      ? 'Do as they say, or go on without it.'
      : "Don't look for a way around. Go on without it, or say what you would have done.";
  return `Permission denied: ${name} was not run. ${said} ${then}`;
}

/** The calls that may be looked at now: those after a sequential call that waits for a person wait with it. */
export function notHeldBack(calls: readonly CallState[], agent: Agent): readonly CallState[] {
  const waiting = calls.findIndex(
    (call) =>
      (call.status === 'requested' || call.asking) &&
      isAsked(call) &&
      agent.tools.get(call.name)?.execution === 'sequential',
  );
  return waiting === -1 ? calls : calls.slice(0, waiting);
}

/** Whether a call was allowed only because its tool confines it: see `ToolAccess.confined`. */
export function isConfined({ decisions }: SessionState, callId: string): boolean {
  const known = decisions.get(keyOf(callId));
  return known !== undefined && asPermissionDecision(known.answer).confined === true;
}
