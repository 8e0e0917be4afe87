import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import { memoryContent } from '../../features/memory/ask.ts';
import type { UserContent } from '../../messages/content.ts';
import type { Message, UserMessage } from '../../messages/message.ts';
import type { SessionState } from '../state.ts';

/**
 * What the model is told at the start of a run, before the prompt, by others than the user: the project's instructions, and
 * what the memory knows. None of it is part of the conversation. What the view has already isn't said again, so that the
 * view only grows.
 */
export function runContext(
  state: SessionState,
  agent: Agent,
  { runId, inputSeq }: { readonly runId: string; readonly inputSeq: number },
  at: number,
): DurableEventBody[] {
  const events: DurableEventBody[] = [];
  const instructions = projectInstructions(state, agent);
  if (instructions !== null) events.push(added(runId, at, 'instructions', [{ type: 'text', text: instructions }]));
  const remembered = state.decisions.get(memoryKey(inputSeq));
  const found = remembered ? contentOf(remembered.answer) : [];
  if (found.length > 0 && !state.view.some(({ id }) => id === messageId(runId, 'memory')))
    events.push(added(runId, at, 'memory', memoryContent(found)));
  return events;
}

/** The key of what the memory said to the prompt of this input. */
export const memoryKey = (inputSeq: number): string => `memory:${inputSeq}`;

const contentOf = (answer: JsonValue): readonly UserContent[] =>
  isJsonObject(answer) && Array.isArray(answer['content']) ? (answer['content'] as UserContent[]) : [];

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

function added(
  runId: string,
  at: number,
  origin: 'instructions' | 'memory',
  content: readonly UserContent[],
): DurableEventBody {
  const pinned = origin === 'instructions' ? { pinned: true } : {};
  const message: UserMessage = { role: 'user', id: messageId(runId, origin), at, origin, content, ...pinned };
  return { type: 'message_added', at, runId, inView: true, message };
}

const messageId = (runId: string, origin: string): string => `${runId}.${origin}`;
