import { asJson, isJsonObject } from '../../json.ts';
import type { PermissionMode } from '../../events/permission-updates.ts';
import type { ToolResultContent } from '../../messages/content.ts';
import type { Message } from '../../messages/message.ts';
import type { Clock } from '../../ports/clock.ts';
import { timedCall, type TimedOutcome } from '../../timed-call.ts';
import { contentBlocks, normalOutput } from '../../tools/output.ts';
import { EVENTS } from './events.ts';
import type { Hook, HookEvent, HookInput } from './hook.ts';
import type { HookDecision } from '../../kernel/services/hook-decision.ts';
import type { HookRegistry } from './registry.ts';

/** What asking hooks needs. */
export interface HookEnvironment {
  readonly clock: Clock;
  readonly messages: readonly Message[];
  readonly permissionMode: PermissionMode;
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Told of what went wrong and what hooks say to people. Never throws. */
  readonly warn: (
    code: 'hook_failed' | 'hook_message' | 'permission_not_saved' | 'permission_callback_failed',
    message: string,
  ) => void;
}

/**
 * Asks the hooks of an event, one after the other, and puts what they say together. Never throws. The first that denies,
 * or ends the run, is the last that is asked; `ask` of one outweighs `allow` of the others, which outweighs `proceed`.
 */
export async function askHooks(
  registry: HookRegistry,
  input: HookInput,
  environment: HookEnvironment,
): Promise<HookDecision> {
  let told = input;
  let result: HookDecision = { decision: 'proceed' };
  for (const hook of registry.matching(input)) {
    if (hook.background) {
      void tell(hook, told, environment);
      continue;
    }
    const said = await answerOf(hook, told, environment);
    result = merged(result, said);
    if (said.input && 'arguments' in told) told = { ...told, arguments: said.input };
    if (result.decision === 'deny' || result.endRun !== undefined) break;
  }
  return result;
}

/** Tells the hooks of an event, all at once; what they say doesn't count, and failing is a warning. */
export async function tellHooks(registry: HookRegistry, input: HookInput, environment: HookEnvironment): Promise<void> {
  const told = registry.matching(input).map((hook) => {
    const done = tell(hook, input, environment);
    return hook.background ? undefined : done;
  });
  await Promise.all(told);
}

async function tell(hook: Hook, input: HookInput, environment: HookEnvironment): Promise<void> {
  const outcome = await called(hook, input, environment);
  if (!outcome.ok) return environment.warn('hook_failed', outcome.problem);
  const answer = parsed(outcome.value);
  if (answer?.systemMessage !== undefined) environment.warn('hook_message', answer.systemMessage);
}

async function answerOf(hook: Hook, input: HookInput, environment: HookEnvironment): Promise<HookDecision> {
  const outcome = await called(hook, input, environment);
  if (!outcome.ok) return failed(hook, outcome.problem, environment);
  const answer = parsed(outcome.value);
  if (!answer) return failed(hook, `${hook.name} answered with something that is no answer of a hook.`, environment);
  const { systemMessage, ...decision } = answer;
  if (systemMessage !== undefined) environment.warn('hook_message', systemMessage);
  return decision.decision === 'allow' && !MAY_ALLOW.has(hook.event) ? { ...decision, decision: 'proceed' } : decision;
}

const MAY_ALLOW: ReadonlySet<HookEvent> = new Set(['before_tool', 'permission_request']);

function failed(hook: Hook, problem: string, { warn, signal }: HookEnvironment): HookDecision {
  // Interrupted: nobody acts on the answer.
  if (!signal.aborted) warn('hook_failed', problem);
  const decision = EVENTS[hook.event].guards ? 'deny' : 'proceed';
  return { decision, problems: [problem], ...(decision === 'deny' ? { reason: problem } : {}) };
}

/** One call of one hook, within its time. */
const called = (
  hook: Hook,
  input: HookInput,
  { clock, messages, permissionMode, signal }: HookEnvironment,
): Promise<TimedOutcome> => {
  const { name, timeoutMs } = hook;
  return timedCall({
    name,
    timeoutMs,
    clock,
    signal,
    call: (aborted) => hook.run(input, { signal: aborted, messages, permissionMode }),
  });
};

type Answer = HookDecision & { readonly systemMessage?: string };

const DECISIONS: ReadonlySet<unknown> = new Set([undefined, 'proceed', 'allow', 'deny', 'ask']);

/** Hooks are other people's code: what they return is read as data, and null is what can't be understood. */
function parsed(value: unknown): Answer | null {
  if (value === undefined || value === null || value === true) return { decision: 'proceed' };
  if (value === false) return { decision: 'deny' };
  const json = asJson(value)?.value;
  if (!isJsonObject(json) || !DECISIONS.has(json['decision'])) return null;
  const { decision = 'proceed', input, output } = json;
  const texts: Record<string, string> = {};
  for (const name of ['reason', 'context', 'endRun', 'systemMessage']) {
    const text = json[name];
    if (text === undefined) continue;
    if (typeof text !== 'string') return null;
    texts[name] = text;
  }
  if (input !== undefined && !isJsonObject(input)) return null;
  const content = output === undefined ? undefined : outputContent(output);
  if (content === null) return null;
  return {
    decision: decision as HookDecision['decision'],
    ...texts,
    ...(input === undefined ? {} : { input }),
    ...(content === undefined ? {} : { output: content }),
  };
}

function outputContent(output: unknown): readonly ToolResultContent[] | null {
  if (typeof output !== 'string' && !contentBlocks(output)) return null;
  return normalOutput(output, Number.POSITIVE_INFINITY).content;
}

const STRICTNESS: readonly HookDecision['decision'][] = ['proceed', 'allow', 'ask', 'deny'];

function merged(before: HookDecision, said: HookDecision): HookDecision {
  const problems = [...(before.problems ?? []), ...(said.problems ?? [])];
  const context = [before.context, said.context].filter((text) => text !== undefined).join('\n');
  // An earlier hook has allowed other arguments.
  const until = before.decision === 'allow' && said.input ? 'proceed' : before.decision;
  const decision = STRICTNESS.indexOf(said.decision) > STRICTNESS.indexOf(until) ? said.decision : until;
  return {
    ...before,
    ...said,
    decision,
    ...(context === '' ? {} : { context }),
    ...(problems.length === 0 ? {} : { problems }),
  };
}
