import { errorText } from '../../errors.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ToolAccess } from '../../tools/access.ts';
import { checkUpdates } from './check-updates.ts';
import type { PermissionUpdate } from '../../events/permission-updates.ts';
import { timedCall } from '../../timed-call.ts';

/** What a permission callback is told besides the tool and its arguments. */
export interface PermissionQuestion {
  readonly sessionId: string;
  readonly runId: string;
  readonly callId: string;
  /** The tool's label, for people. */
  readonly label: string;
  /** Why it is asked, in words. */
  readonly reason: string;
  /** The rule that wants it to be asked for, if one does. */
  readonly rule: string | null;
  /** What the call touches, where the tool says. */
  readonly access: ToolAccess | null;
  /** Updates that would let calls like this one run from now on. Return some of them as `updatedPermissions`. */
  readonly suggestions: readonly PermissionUpdate[];
  /** Aborted when the run is, and when the time for an answer is over. */
  readonly signal: AbortSignal;
}

/** What `canUseTool` answers. `updatedInput` replaces the arguments of the call. */
export type PermissionResult =
  | {
      readonly behavior: 'allow';
      /** Arguments to run the call with instead. They are checked against the schema and the rules again. */
      readonly updatedInput?: JsonObject;
      readonly updatedPermissions?: readonly PermissionUpdate[];
    }
  | {
      readonly behavior: 'deny';
      /** Told to the model. */
      readonly message: string;
      /** True to end the run. */
      readonly interrupt?: boolean;
      readonly updatedPermissions?: readonly PermissionUpdate[];
    };

/** Decides on a call that rules and mode leave open. Throwing, silence and an answer of another form mean no. */
export type CanUseTool = (
  toolName: string,
  input: JsonObject,
  question: PermissionQuestion,
) => Promise<PermissionResult> | PermissionResult;

/** An answer that was checked, from a callback or a person. */
export type PermissionAnswer =
  | { readonly allow: true; readonly input: JsonObject | null; readonly updates: readonly PermissionUpdate[] }
  | {
      readonly allow: false;
      readonly message: string;
      readonly interrupt: boolean;
      readonly updates: readonly PermissionUpdate[];
    };

const no = (message: string): PermissionAnswer => ({ allow: false, message, interrupt: false, updates: [] });

/** What to ask with, and how long to wait. */
export interface Asking {
  readonly canUseTool: CanUseTool;
  /** Infinity: however long it takes. */
  readonly timeoutMs: number;
  /** Tells the developer that the callback doesn't work. */
  readonly warn: (message: string) => void;
  /** Whether an answer may set the mode `bypass`. */
  readonly allowBypass: boolean;
  readonly clock: Clock;
  /** The run's own signal. */
  readonly signal: AbortSignal;
}

/** Asks the callback. Never rejects: whatever goes wrong is a no with the reason. */
export async function askCallback(
  { canUseTool, timeoutMs, allowBypass, clock, signal, warn }: Asking,
  toolName: string,
  input: JsonObject,
  question: Omit<PermissionQuestion, 'signal'>,
): Promise<PermissionAnswer> {
  const call = async (inner: AbortSignal): Promise<unknown> => {
    try {
      return await canUseTool(toolName, input, { ...question, signal: inner });
    } catch (thrown) {
      if (!inner.aborted) warn(`canUseTool failed, so ${toolName} was not run: ${errorText(thrown)}`);
      throw thrown;
    }
  };
  const outcome = await timedCall({ name: 'The permission callback', timeoutMs, clock, signal, call });
  if (!outcome.ok) return no(outcome.problem);
  const answer = checkResult(outcome.value, allowBypass);
  if (!('unusable' in answer)) return answer;
  warn(
    `canUseTool gave an answer that can't be used, so ${toolName} was not run: ${answer.unusable} ` +
      "Write: return { behavior: 'allow' } or return { behavior: 'deny', message: '…' }",
  );
  return no(answer.unusable);
}

/** What a callback answered, if it is an answer; else what is wrong with it. */
function checkResult(result: unknown, allowBypass: boolean): PermissionAnswer | { readonly unusable: string } {
  const no = (unusable: string): { readonly unusable: string } => ({ unusable });
  if (!isJsonObject(result)) return no('The permission callback gave no answer.');
  const { behavior, updatedInput, updatedPermissions, message, interrupt } = result as Record<string, unknown>;
  let updates: readonly PermissionUpdate[];
  try {
    updates = updatedPermissions === undefined ? [] : checkUpdates(updatedPermissions, allowBypass);
  } catch (thrown) {
    return no(`The permission callback's answer can't be used: ${errorText(thrown)}`);
  }
  if (behavior === 'deny') {
    const said = typeof message === 'string' && message.trim() !== '' ? message : 'The user said no.';
    return { allow: false, message: said, interrupt: interrupt === true, updates };
  }
  if (behavior !== 'allow') {
    const said = behavior === undefined ? '' : `, and says ${JSON.stringify(behavior)}`;
    return no(`The permission callback answered neither allow nor deny${said}.`);
  }
  if (updatedInput !== undefined && !isJsonObject(updatedInput)) {
    return no("The permission callback's answer can't be used: updatedInput is no object.");
  }
  return { allow: true, input: updatedInput ?? null, updates };
}
