import type { Message, UserMessage } from '../../messages/message.ts';
import { TODO_TOOL, todoItems, type TodoItem } from '../../projections/todo.ts';

/**
 * What a compaction keeps or takes as a whole: one message, or a reply with the results of all its calls. A call is never
 * cut from its result, and a parallel batch is never cut in two.
 */
export interface Unit {
  readonly messages: readonly Message[];
  /** The place of its first message in the view. */
  readonly start: number;
  /** False for what must stay: see `protectedUnits`. */
  readonly removable: boolean;
}

/** Cuts a view where it may be cut. */
export function unitsOf(view: readonly Message[], isPinned: (message: Message) => boolean): Unit[] {
  const groups = groupsOf(view);
  const asked = lastAsked(view);
  const lastReply = groups.findLastIndex(({ messages: [first] }) => first?.role === 'assistant');
  const todos = openTodos(groups);
  return groups.map(({ messages, start }, index) => ({
    messages,
    start,
    // What the model hasn't read yet, and the reply that asked for it, are never taken.
    removable:
      index !== lastReply && index !== todos && !messages.some((message) => asked.has(message) || isPinned(message)),
  }));
}

function groupsOf(view: readonly Message[]): { messages: Message[]; start: number }[] {
  const groups: { messages: Message[]; start: number }[] = [];
  for (let start = 0; start < view.length;) {
    const length = groupLength(view, start);
    groups.push({ messages: view.slice(start, start + length), start });
    start += length;
  }
  return groups;
}

/** A reply's group goes on to the last of its results; the application's own messages in between are part of it. */
function groupLength(view: readonly Message[], start: number): number {
  const first = view[start];
  if (first?.role !== 'assistant') return 1;
  let length = 1;
  for (let next = start + 1; next < view.length; next++) {
    const { role } = view[next] ?? {};
    if (role === 'tool') length = next - start + 1;
    else if (role !== 'extension') break;
  }
  return length;
}

const isRequest = ({ origin }: UserMessage): boolean =>
  origin === 'prompt' || origin === 'follow_up' || origin === 'import';

/**
 * What the model is working on: what people asked for last, with all messages of that prompt and the steering since, and
 * the project's instructions.
 */
function lastAsked(view: readonly Message[]): ReadonlySet<Message> {
  const asked = new Set<Message>();
  const at = view.findLastIndex((message) => message.role === 'user' && isRequest(message));
  for (let index = at; index >= 0; index--) {
    const message = view[index];
    if (message?.role !== 'user' || !isRequest(message) || message.origin !== (view[at] as UserMessage).origin) break;
    asked.add(message);
    // Imported messages belong to no one prompt.
    if (message.origin !== 'prompt') break;
  }
  for (const message of view.slice(at + 1)) {
    if (message.role === 'user' && message.origin === 'steering') asked.add(message);
  }
  const instructions = view.findLast((message) => message.role === 'user' && message.origin === 'instructions');
  if (instructions) asked.add(instructions);
  return asked;
}

/** The todo list a reply writes down; null for none. */
function todosOf(message: Message | undefined): readonly TodoItem[] | null {
  if (message?.role !== 'assistant') return null;
  const call = message.content.findLast((block) => block.type === 'tool_call' && block.name === TODO_TOOL);
  return call?.type === 'tool_call' ? todoItems(call.arguments) : null;
}

/** The place of the newest todo list, while something on it is to be done; -1 for none. */
function openTodos(groups: readonly { readonly messages: readonly Message[] }[]): number {
  const newest = groups.findLastIndex(({ messages: [first] }) => todosOf(first) !== null);
  const items = todosOf(groups[newest]?.messages[0]) ?? [];
  return items.some(({ status }) => status !== 'completed') ? newest : -1;
}

/** Messages that stay whatever happens: the application's own (no model is sent them), and those marked so. */
export const isMarkedPinned = (message: Message): boolean =>
  message.role === 'extension' || (message.role === 'user' && message.pinned === true);

/** True for what an earlier compaction wrote as a summary. */
export const isSummary = (message: Message): message is UserMessage =>
  message.role === 'user' && message.removed?.summary === true;

/**
 * What is wrong with a view a compaction made, in words; null when nothing is. Every call keeps its results right after
 * its reply and in call order, nothing else has results, and what was pinned is there, in its order.
 */
export function viewProblem(
  before: readonly Message[],
  after: readonly Message[],
  isPinned: (message: Message) => boolean,
): string | null {
  let waiting: string[] = [];
  const seen = new Set<Message>();
  for (const message of after) {
    if (seen.has(message)) return `message ${message.id} is there twice`;
    seen.add(message);
    if (message.role === 'extension') continue;
    if (message.role === 'tool') {
      if (waiting.shift() !== message.callId)
        return `the result of ${message.callId} is without its call, or out of place`;
      continue;
    }
    if (waiting.length > 0) break;
    if (message.content.length === 0) return `message ${message.id} is empty`;
    waiting = message.content.flatMap((block) => (block.type === 'tool_call' ? [block.callId] : []));
  }
  if (waiting.length > 0) return `the call ${waiting[0]} is without its result`;
  return pinnedProblem(before, after, isPinned);
}

function pinnedProblem(
  before: readonly Message[],
  after: readonly Message[],
  isPinned: (message: Message) => boolean,
): string | null {
  let from = 0;
  for (const message of before) {
    if (!isPinned(message)) continue;
    const at = after.indexOf(message, from);
    if (at < 0) return `the pinned message ${message.id} is gone, changed or out of its order`;
    from = at + 1;
  }
  return null;
}
