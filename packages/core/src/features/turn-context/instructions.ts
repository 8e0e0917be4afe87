import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { contextMessage } from '../../kernel/services/run-context.ts';
import type { SessionState } from '../../kernel/state.ts';
import type { Message, UserMessage } from '../../messages/message.ts';

/**
 * The project's instructions, for the start of a run. They are no part of the conversation. What the view has already isn't
 * said again, so that the view only grows.
 */
export function instructionsOf(
  state: SessionState,
  agent: Agent,
  { runId }: { readonly runId: string },
  at: number,
): DurableEventBody[] {
  const instructions = projectInstructions(state, agent);
  return instructions === null
    ? []
    : [contextMessage(runId, at, 'instructions', [{ type: 'text', text: instructions }])];
}

const REPLACED = "The project's instructions have changed. These stand in the place of the ones above.\n\n";

/** The instructions, where the newest ones in the view say something else. */
function projectInstructions({ view }: SessionState, agent: Agent): string | null {
  const text = agent.projectInstructions;
  if (text === null) return null;
  const newest = view.findLast(isInstructions);
  if (newest === undefined) return text;
  const [block] = newest.content;
  const said = block?.type === 'text' ? block.text : '';
  return said === text || said === REPLACED + text ? null : REPLACED + text;
}

const isInstructions = (message: Message): message is UserMessage =>
  message.role === 'user' && message.origin === 'instructions';
