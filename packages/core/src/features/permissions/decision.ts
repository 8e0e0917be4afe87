import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { DurableEvent } from '../../events/events.ts';
import type { DecidedBy } from './evaluate.ts';
import type { PermissionUpdate } from '../../events/permission-updates.ts';

/** What was decided about a call, as the log has it: the `decision` of a `decision_made` of kind `permission`. */
export interface PermissionDecision {
  /** `invalid`: the arguments don't fit the tool's schema, and nobody was asked. */
  readonly outcome: 'allow' | 'deny' | 'invalid';
  readonly by: DecidedBy;
  /** In words; told to the model when it is a no. */
  readonly reason: string;
  /** The arguments the call runs with, when whoever decided changed them. */
  readonly arguments?: JsonObject;
  /** What holds from now on. */
  readonly updates?: readonly PermissionUpdate[];
  /** True when the call runs only in the sandbox that its tool makes for it: see `ToolAccess.confined`. */
  readonly confined?: boolean;
  /** Milliseconds that whoever was asked took. They don't count against the run's time. */
  readonly waitedMs?: number;
  /** True when the run is to end. */
  readonly interrupt?: boolean;
}

/** A decision read back from the log. What can't be read is a no. */
export function asPermissionDecision(decision: JsonValue | undefined): PermissionDecision {
  if (decision !== undefined && isJsonObject(decision)) return decision as unknown as PermissionDecision;
  return { outcome: 'deny', by: { type: 'gate' }, reason: 'The decision about this call can not be read.' };
}

/** What an event changes of a session's permissions. */
export function updatesOf(event: DurableEvent): readonly PermissionUpdate[] {
  if (event.type === 'input_received') return event.input.type === 'permission_updates' ? event.input.updates : [];
  if (event.type !== 'decision_made' || event.kind !== 'permission') return [];
  return asPermissionDecision(event.decision).updates ?? [];
}
