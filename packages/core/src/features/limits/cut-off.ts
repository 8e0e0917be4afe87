import type { BetweenTurns, FinishGate } from '../../kernel/between-turns.ts';
import type { AssistantContent, ToolCallBlock } from '../../messages/content.ts';
import type { AssistantMessage, Message } from '../../messages/message.ts';
import type { ModelWarning } from '../../model/check-usage.ts';
import type { Usage } from '../../model/usage.ts';

const isCut = (block: AssistantContent): block is ToolCallBlock =>
  block.type === 'tool_call' && block.problem === 'cut_off';

const tokens = ({ output }: Usage): string =>
  output === null ? 'its output limit' : `${output.toLocaleString('en-US')} output tokens`;

/** What the model is told of a call that the output limit cut off. */
export const cutCallWords = ({ stopReason, usage }: AssistantMessage): string =>
  `Not executed: the reply was cut off before the call was complete${stopReason === 'length' ? `. It ended at ${tokens(usage)}` : ''}. ` +
  'Send it again with shorter arguments: split a long text over several calls.';

/** Tells the developer of calls that the output limit cut off; null when there are none. */
export function cutCallWarning(content: readonly AssistantContent[], usage: Usage): ModelWarning | null {
  const names = content.filter(isCut).map(({ name }) => name);
  if (names.length === 0) return null;
  const message = `The reply ended at ${tokens(usage)} in the middle of a call of ${names.join(', ')}, which did not run. ${RAISE}`;
  return { code: 'call_cut_off', message };
}

const RAISE = 'Raise `maxTokens`, lower `thinking`, or let the tool take its input in parts.';

/** The newest replies of the run, newest first, down to what somebody said in between. */
function* newestReplies(view: readonly Message[]): Generator<AssistantMessage> {
  for (let index = view.length - 1; index >= 0; index -= 1) {
    const message = view[index];
    if (message?.role === 'assistant') yield message;
    if (message?.role === 'user' && message.origin !== 'reminder') return;
  }
}

/** Two replies in a row whose calls were cut off: a third would cost as much and do as little. */
export function cutTwice({ state, last }: BetweenTurns): Extract<FinishGate, { type: 'end' }> | null {
  if (last?.stopReason !== 'length' || !last.hadCalls) return null;
  const [newest, before] = newestReplies(state.view);
  if (!newest?.content.some(isCut) || !before?.content.some(isCut)) return null;
  const message = `Two replies in a row ended at ${tokens(newest.usage)} in the middle of a tool call. ${RAISE}`;
  return { type: 'end', status: 'length', message };
}
