import { isJsonObject, type JsonValue } from '../../json.ts';
import type { Rejection } from '../../kernel/perform/reject-call.ts';
import type { RunState } from '../../kernel/state.ts';
import { OUTPUT_TOOL } from './structured.ts';

/** Counts answers that a check, or their schema, refused. */
export function countRefusal(run: RunState | null, key: string, decision: JsonValue): void {
  if (run === null || !isJsonObject(decision) || decision['ok'] === true) return;
  if (key.startsWith('check:')) run.checksFailed += 1;
  else if (key.startsWith('output:')) run.outputsFailed += 1;
}

const MISFITS: ReadonlySet<Rejection> = new Set([
  'invalid_arguments',
  'invalid_json',
  'invalid_xml',
  'not_an_object',
  'too_deep',
]);

/** Counts values that came as arguments of the output tool and didn't fit. */
export function countMisfit(run: RunState | null, toolName: string, reason: Rejection): void {
  if (run !== null && toolName === OUTPUT_TOOL && MISFITS.has(reason)) run.outputsFailed += 1;
}
