import { isJsonObject } from '../../json.ts';
import type { Fold } from '../../kernel/fold.ts';
import type { Rejection } from '../../kernel/plan/reject-call.ts';
import { OUTPUT_TOOL } from '../../tools/stop-tool-names.ts';

const MISFITS: ReadonlySet<Rejection> = new Set([
  'invalid_arguments',
  'invalid_json',
  'invalid_xml',
  'not_an_object',
  'too_deep',
]);

/** Counts values that didn't fit their schema: answers, and arguments of the output tool. */
export const outputFold: Fold = {
  after({ run }, event) {
    if (run === null) return;
    if (event.type === 'tool_call_rejected') {
      if (event.toolName === OUTPUT_TOOL && event.reason !== 'no_call' && MISFITS.has(event.reason))
        run.outputsFailed += 1;
    } else if (event.type === 'decision_made' && event.kind === 'check' && event.key.startsWith('output:')) {
      if (isJsonObject(event.decision) && event.decision['ok'] !== true) run.outputsFailed += 1;
    }
  },
};
