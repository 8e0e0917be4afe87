import type { Message, UserMessage } from '../../messages/message.ts';
import { userText } from '../../messages/final-text.ts';
import type { Unit } from './units.ts';

/** A view, as compaction reads and returns it. Neither the list nor its messages are ever changed. */
export type View = readonly Message[];

/** What a phase may use. Everything but `summarise` is pure. */
export interface PhaseContext {
  /** Tokens the view should come down to. */
  readonly target: number;
  /** Tokens the model that writes summaries takes; null when that isn't known. */
  readonly window: number | null;
  /** Tokens of a request with this view, system prompt and tools included. */
  tokensOf(view: View): number;
  /** Whether a message must stay as it is. */
  isPinned(message: Message): boolean;
  /** The view cut where it may be cut, with what may be taken. */
  unitsOf(view: View): readonly Unit[];
  /** Milliseconds since 1970: the time of the messages this compaction writes. */
  readonly at: number;
  /** The id of a message this compaction writes. */
  newId(): string;
  /** The name of the tool that reads removed text back; null when the agent has none. */
  readonly recallName: string | null;
  /** Somebody asked for it, and said what matters: then a summary is worth a model call, however short the rest is. */
  readonly isAsked?: boolean;
  /**
   * Has a model write down what these messages say. `messages` ends with the last message to be summarised.
   *
   * @throws CompactionError when no usable summary came, after all retries.
   */
  summarise(messages: View, options: SummaryOptions): Promise<string>;
}

/** Options of the summaries that a compaction writes. */
export interface SummaryOptions {
  /** How many messages at the end of the list the summary is to replace, in tokens: it must be shorter. */
  readonly replaces: number;
  /** Tokens the summary may have. */
  readonly maxTokens: number;
  /** What to pay attention to, on top of what every summary is asked for. */
  readonly instructions?: string;
}

/** A step of a compaction strategy: from a view to a smaller one, or to the same. It never changes what it is given. */
export interface CompactionPhase {
  /** Shown in the `compacted` event. */
  readonly name: string;
  apply(view: View, context: PhaseContext): View | Promise<View>;
}

/** An ordered list of phases. They are applied one after another until the view fits. */
export interface CompactionStrategy {
  /** Shown in the `compacted` event. */
  readonly name: string;
  readonly phases: readonly CompactionPhase[];
}

/** Why a phase could not do its work. The view stays as it was before its strategy, and the next strategy is tried. */
export class CompactionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CompactionError';
  }
}

/** The names of removed messages, for whoever wants to read them: `first..last`, or one id. */
const handleOf = (from: string, to: string): string => (from === to ? from : `${from}..${to}`);

const firstId = (message: Message | undefined): string =>
  message?.role === 'user' && message.removed ? message.removed.from : (message?.id ?? '');

const lastId = (message: Message | undefined): string =>
  message?.role === 'user' && message.removed ? message.removed.to : (message?.id ?? '');

const countOf = (message: Message): number =>
  message.role === 'extension' ? 0 : message.role === 'user' && message.removed ? message.removed.count : 1;

/**
 * The view without some of its units: where the first of them was, there is a message that says what is gone, in the
 * words of `text`. The application's own messages stay.
 */
export function replaceUnits(
  view: View,
  units: readonly Unit[],
  context: PhaseContext,
  text: (removed: { readonly count: number; readonly handle: string }) => string,
  summary: boolean,
): View {
  const gone = units.flatMap(({ messages }) => messages.filter(({ role }) => role !== 'extension'));
  if (gone.length === 0) return view;
  const from = firstId(gone[0]);
  const to = lastId(gone.at(-1));
  const count = gone.reduce((sum, message) => sum + countOf(message), 0);
  const note = text({ count, handle: handleOf(from, to) });
  const message: UserMessage = {
    ...userText(context.newId(), context.at, 'compaction', note),
    removed: { from, to, count, summary },
  };
  const isGone = new Set<Message>(gone);
  return view.flatMap((old): readonly Message[] => {
    if (old === gone[0]) return [message];
    return isGone.has(old) ? [] : [old];
  });
}

export const messages = (count: number): string => `${count} earlier message${count === 1 ? '' : 's'}`;
