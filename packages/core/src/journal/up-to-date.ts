import type { DurableEvent, SessionInput } from '../events/events.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';

// Event version 1 had other names for some fields and values. Its fields are untyped here: no type describes them any more.

const STATUSES: Readonly<Record<string, string>> = { no_progress: 'loop_detected', check_failed: 'guardrail_failed' };

const statusOf = (end: JsonValue | undefined): JsonValue | undefined =>
  typeof end === 'string' ? (STATUSES[end] ?? end) : end;

/** Renames the fields that are there and not named in today's words yet. */
function rename(from: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const entries = Object.entries(from).map(([name, value]) => [names[name] ?? name, value] as const);
  return Object.fromEntries(entries);
}

const withStatus = (from: JsonObject): JsonObject =>
  from['end'] === undefined ? from : { ...rename(from, { end: 'status' }), status: statusOf(from['end']) ?? null };

const decided = (from: JsonObject): JsonObject =>
  from['decision'] === 'deny' ? { ...from, decision: 'reject' } : from;

function listOf(value: JsonValue | undefined, convert: (item: JsonObject) => JsonObject): JsonValue[] {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  return items.map((item) => (isJsonObject(item) ? convert(item) : item));
}

const withTools = (from: JsonObject): JsonObject =>
  from['clientTools'] === undefined
    ? from
    : { ...from, clientTools: listOf(from['clientTools'], (tool) => rename(tool, { parameters: 'inputSchema' })) };

const INPUTS: Readonly<Partial<Record<SessionInput['type'], (from: JsonObject) => JsonObject>>> = {
  approval_answer: decided,
  prompt: withTools,
  continue: withTools,
};

function inputReceived(from: JsonObject): JsonObject {
  const { input } = from;
  const convert = isJsonObject(input) ? INPUTS[input['type'] as SessionInput['type']] : undefined;
  return convert && isJsonObject(input) ? { ...from, input: convert(input) } : from;
}

const CONVERSIONS: Readonly<Partial<Record<DurableEvent['type'], (from: JsonObject) => JsonObject>>> = {
  run_ended: (from) => withStatus(rename(from, { terminalCallId: 'stopCallId' })),
  run_started: (from) => {
    const { noProgress, ...config } = isJsonObject(from['config']) ? from['config'] : {};
    return withTools(noProgress === undefined ? from : { ...from, config: { ...config, loopDetection: noProgress } });
  },
  turn_started: (from) => (isJsonObject(from['closing']) ? { ...from, closing: withStatus(from['closing']) } : from),
  branches_ended: (from) => ({ ...from, branches: listOf(from['branches'], withStatus) }),
  approval_answered: decided,
  input_received: inputReceived,
  // Two earlier words, the second by mistake.
  compaction_failed: (from) =>
    from['reason'] === 'no_progress' || from['reason'] === 'loop_detected'
      ? { ...from, reason: 'nothing_to_remove' }
      : from,
  message_added: (from) => {
    const { notice } = from;
    if (!isJsonObject(notice) || notice['type'] !== 'no_progress') return from;
    return { ...from, notice: { ...notice, type: 'loop_detected' } };
  },
};

/**
 * An event as this version names its fields, whatever version wrote it. `Journal.read` returns events through this function.
 *
 * @example
 * ```ts
 * import { upToDate } from '@treadle/core/journal';
 *
 * const stored = '{"type":"approval_answered","seq":9,"at":0,"runId":"r1","approvalId":"a1","decision":"deny","inputSeq":8}';
 * const event = upToDate(JSON.parse(stored));
 * console.log(event.type === 'approval_answered' && event.decision); // reject
 * ```
 */
export function upToDate(event: DurableEvent): DurableEvent {
  const convert = CONVERSIONS[event.type];
  return convert ? (convert(event as unknown as JsonObject) as unknown as DurableEvent) : event;
}
