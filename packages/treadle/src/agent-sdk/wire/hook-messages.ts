import type { DurableEvent, JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { hookEventName } from '@treadle/tools';

/** What hooks decided, as the protocol tells of hooks: that they began, and what they said. */
export function hookMessages(event: Extract<DurableEvent, { readonly type: 'decision_made' }>): JsonObject[] {
  const { kind, key, decision } = event;
  if (kind !== 'hook') return [];
  // Keys begin with the moment: `before_tool:call_1`.
  const name = hookEventName(key.replace(/:.*/s, ''));
  const hook = { hook_id: key, hook_name: name, hook_event: name };
  const said = isJsonObject(decision) ? decision : {};
  const isNo = said['decision'] === 'deny';
  const output = JSON.stringify(said);
  return [
    { type: 'system', subtype: 'hook_started', ...hook },
    {
      type: 'system',
      subtype: 'hook_response',
      ...hook,
      output,
      stdout: output,
      stderr: '',
      exit_code: isNo ? 2 : 0,
      outcome: isNo ? 'error' : 'success',
    },
  ];
}
