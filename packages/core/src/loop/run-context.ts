import type { Agent } from '../agent.ts';
import type { DurableEventBody } from '../events/events.ts';
import type { UserContent } from '../messages/content.ts';
import type { Message, UserMessage } from '../messages/message.ts';
import type { SessionState } from './state.ts';

/**
 * What the model is told at the start of a run, before the prompt, by others than the user: the project's instructions.
 * None of it is part of the conversation. What the view has already isn't said again, so that the view only grows.
 */
export function runContext(state: SessionState, agent: Agent, runId: string, at: number): DurableEventBody[] {
  const instructions = projectInstructions(state, agent);
  return instructions === null ? [] : [added(runId, at, 'instructions', [{ type: 'text', text: instructions }])];
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

function added(runId: string, at: number, origin: 'instructions', content: readonly UserContent[]): DurableEventBody {
  const message: UserMessage = { role: 'user', id: `${runId}.${origin}`, at, origin, content };
  return { type: 'message_added', at, runId, inView: true, message };
}
