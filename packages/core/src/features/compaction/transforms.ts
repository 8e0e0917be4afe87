import type { AssistantMessage, Message, ToolResultMessage, UserMessage } from '../../messages/message.ts';
import { cutTexts, headOf, type TextLimits } from '../../messages/cut.ts';
import { messages, replaceUnits, type CompactionPhase, type PhaseContext, type View } from './phase.ts';
import { recallHint } from '../../messages/result-share.ts';
import type { Unit } from './units.ts';

// The pure steps of a compaction. Each takes a view and returns a smaller one, or the same one when it has nothing to do.
// None of them changes a message: a shorter one takes its place, under the same id.

/** The view with some messages replaced; the same list when none was. */
function replaceEach(view: View, replacement: (message: Message, index: number) => Message): View {
  let changed = false;
  const replaced = view.map((message, index) => {
    const next = replacement(message, index);
    changed ||= next !== message;
    return next;
  });
  return changed ? replaced : view;
}

/**
 * Leaves reasoning out, except that of the newest reply: providers want it back beside the calls whose results follow.
 * Reasoning that its provider has tied to the rest of the reply (`opaque`) stays, for one is refused without the other.
 */
export function dropThinking(): CompactionPhase {
  return {
    name: 'drop_thinking',
    apply(view, { isPinned }) {
      const last = view.findLastIndex(({ role }) => role === 'assistant');
      return replaceEach(view, (message, index) =>
        message.role === 'assistant' && index < last && !isPinned(message) ? withoutThinking(message) : message,
      );
    },
  };
}

function withoutThinking(message: AssistantMessage): AssistantMessage {
  const content = message.content.filter(
    (block) => (block.type !== 'thinking' && block.type !== 'redacted_thinking') || block.opaque !== undefined,
  );
  return content.length === message.content.length || content.length === 0 ? message : { ...message, content };
}

/** The results a phase may touch: all but the newest ones, and those that no reply has followed yet. */
function oldResults(view: View, { unitsOf }: PhaseContext, keepRecent: number): ReadonlySet<ToolResultMessage> {
  const results = unitsOf(view)
    .filter(({ removable }) => removable)
    .flatMap((unit) => unit.messages.filter((message): message is ToolResultMessage => message.role === 'tool'));
  const count = view.filter(({ role }) => role === 'tool').length;
  const recent = new Set(view.filter(({ role }) => role === 'tool').slice(Math.max(0, count - keepRecent)));
  return new Set(results.filter((result) => !recent.has(result)));
}

/**
 * Cuts the middle out of long tool results. Where it was, a note says how much is gone and how to read it.
 *
 * @param options `keepRecent`: the newest results are left as they are (default 0); those that no reply has followed yet
 * always are.
 */
export function truncateResults(options: TextLimits & { readonly keepRecent?: number }): CompactionPhase {
  return {
    name: 'truncate_results',
    apply(view, context) {
      const old = oldResults(view, context, options.keepRecent ?? 0);
      return replaceEach(view, (message) => {
        if (message.role !== 'tool' || !old.has(message)) return message;
        const hint = recallHint(context.recallName, message.callId);
        const content = cutTexts(message.content, options, (removed) => `[… ${removed} cut out; ${hint} …]`);
        return content === message.content ? message : { ...message, content };
      });
    },
  };
}

/** A result this short is no smaller for being removed. */
const LEAST_REMOVED = 200;

/** Puts a placeholder in the place of old tool results, all but the newest `keepRecent` (default 10). */
export function removeResults({ keepRecent = 10 }: { readonly keepRecent?: number } = {}): CompactionPhase {
  return {
    name: 'remove_results',
    apply(view, context) {
      const old = oldResults(view, context, keepRecent);
      return replaceEach(view, (message) =>
        message.role === 'tool' && old.has(message) ? withoutContent(message, context) : message,
      );
    },
  };
}

function withoutContent(message: ToolResultMessage, { recallName }: PhaseContext): ToolResultMessage {
  let length = 0;
  for (const block of message.content) length += block.type === 'text' ? block.text.length : LEAST_REMOVED;
  if (length < LEAST_REMOVED) return message;
  const text = `[The result of this call was removed to save space; ${recallHint(recallName, message.callId)}.]`;
  return { ...message, content: [{ type: 'text', text }] };
}

/** Which messages stay whole, counted from both ends. A count that falls inside a reply's calls takes all of them in. */
export interface KeptEnds {
  /** Messages at the beginning. Default 0. */
  readonly keepFirst?: number;
  /** Messages at the end. Default 0. */
  readonly keepRecent?: number;
}

/** The units between the kept ends that may be taken, oldest first. */
export function middleUnits(
  view: View,
  { unitsOf }: PhaseContext,
  { keepFirst = 0, keepRecent = 0 }: KeptEnds,
): Unit[] {
  const end = view.length - keepRecent;
  return unitsOf(view).filter(
    ({ removable, start, messages: of }) => removable && start >= keepFirst && start + of.length <= end,
  );
}

/**
 * Drops the oldest messages between the kept ends, and says so where they were. With `middle: 'to_fit'` (the default) it
 * drops as few as it can; with `'all'` everything between the ends goes.
 */
export function dropOldest(options: KeptEnds & { readonly middle?: 'all' | 'to_fit' } = {}): CompactionPhase {
  return {
    name: 'drop_oldest',
    apply(view, context) {
      const units = middleUnits(view, context, options);
      const text = ({ count, handle }: { count: number; handle: string }): string =>
        `[${messages(count)} removed to save space; ${recallHint(context.recallName, handle)}.]`;
      const without = (count: number): View => replaceUnits(view, units.slice(0, count), context, text, false);
      if (options.middle === 'all') return smaller(view, without(units.length), context);
      return smaller(
        view,
        without(fewest(units, (count) => context.tokensOf(without(count)) <= context.target)),
        context,
      );
    },
  };
}

/** A marker may weigh more than what it stands for: then the view stays. */
const smaller = (before: View, after: View, { tokensOf }: PhaseContext): View =>
  tokensOf(after) < tokensOf(before) ? after : before;

/** The smallest count that fits, or all of them, by halving: the more go, the smaller the view. */
function fewest(units: readonly Unit[], fits: (count: number) => boolean): number {
  let low = 0;
  let high = units.length;
  while (low < high) {
    const count = (low + high) >> 1;
    if (fits(count)) high = count;
    else low = count + 1;
  }
  return low;
}

const CONDENSED_LENGTH = 200;

/**
 * Puts a short note in the place of each old reply and its results: the beginning of what it said, or how many tools it
 * used. No model is asked. Messages of people stay, and so do the newest `keepRecent` messages (default 10).
 */
export function condenseReplies({ keepRecent = 10 }: { readonly keepRecent?: number } = {}): CompactionPhase {
  return {
    name: 'condense_replies',
    apply(view, context) {
      let condensed = view;
      for (const unit of middleUnits(view, context, { keepRecent })) {
        const [reply] = unit.messages;
        if (reply?.role !== 'assistant') continue;
        const text = ({ handle }: { handle: string }): string =>
          `[Earlier reply, shortened; ${recallHint(context.recallName, handle)}] ${gist(reply)}`;
        condensed = smaller(condensed, replaceUnits(condensed, [unit], context, text, false), context);
      }
      return condensed;
    },
  };
}

function gist({ content }: AssistantMessage): string {
  const said = content.flatMap((block) => (block.type === 'text' ? [headOf(block.text.trim(), CONDENSED_LENGTH)] : []));
  const text = said.filter((part) => part !== '').join(' ');
  if (text !== '') return text;
  const calls = content.filter(({ type }) => type === 'tool_call').length;
  return calls === 0 ? '(a reply without text)' : `(used ${calls} tool${calls === 1 ? '' : 's'})`;
}

/**
 * Cuts down messages that alone take more than `most` tokens of the context: their text keeps its beginning and its end,
 * and a note between says how to read the rest. Applied before any strategy, and to the newest messages too: a message
 * that doesn't fit can't be sent at all.
 */
export function clipOversized(most: number): CompactionPhase {
  return {
    name: 'clip_oversized',
    apply(view, context) {
      const empty = context.tokensOf([]);
      return replaceEach(view, (message) => {
        if (message.role === 'extension' || context.isPinned(message)) return message;
        const tokens = context.tokensOf([message]) - empty;
        return tokens <= most ? message : clipped(message, most / tokens, context);
      });
    },
  };
}

function clipped(
  message: UserMessage | AssistantMessage | ToolResultMessage,
  share: number,
  { recallName }: PhaseContext,
): Message {
  const handle = message.role === 'tool' ? message.callId : message.id;
  const hint = recallHint(recallName, handle);
  const note = (removed: string): string => `[… ${removed} cut out, for they don't fit; ${hint} …]`;
  const length = message.content.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0);
  // Half of what would fit: a text of many-byte characters weighs more than its length says.
  const maxLength = Math.floor((length * share) / 2);
  if (message.role === 'assistant') return clippedReply(message, maxLength, hint, note);
  const shown = message.content.map((block) => {
    if (block.type !== 'file' || block.data === undefined) return block;
    const name = block.name === undefined ? block.mediaType : `${block.name}, ${block.mediaType}`;
    return { type: 'text' as const, text: `[A file (${name}) was here; it doesn't fit.]` };
  });
  return { ...message, content: cutTexts(shown, { maxLength }, note) };
}

/** Characters of a call's arguments that are worth replacing. */
const LONG_ARGUMENTS = 2000;

function clippedReply(
  message: AssistantMessage,
  maxLength: number,
  hint: string,
  note: (removed: string) => string,
): Message {
  const content = message.content.map((block) => {
    if (block.type === 'text') return cutTexts([block], { maxLength }, note)[0] ?? block;
    if (block.type !== 'tool_call' || JSON.stringify(block.arguments).length < LONG_ARGUMENTS) return block;
    const { argumentsText: _, ...rest } = block;
    return { ...rest, arguments: { removed: `The arguments don't fit; ${hint}.` } };
  });
  return { ...message, content };
}
