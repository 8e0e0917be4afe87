import { textsOf } from '../messages/final-text.ts';
import type { DurableEvent, PendingCall, RunStatus } from '../events/events.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { AssistantContent, FileBlock, ImageBlock, ToolCallBlock, ToolResultContent } from '../messages/content.ts';
import type { AssistantMessage, Message, UserMessageOrigin } from '../messages/message.ts';
import type { StopReason } from '../model/usage.ts';
import { stopToolText } from '../tools/stop-tool-names.ts';
import { sessionTitleFold, type SessionTitleFold } from './title.ts';

/** An image or a file that is not in the transcript itself. */
export interface TranscriptAttachment {
  readonly kind: 'image' | 'file';
  /** For example `image/png`. */
  readonly mediaType: string;
  readonly name: string | null;
  /** Null when it was not inline. */
  readonly bytes: number | null;
  /** Null when it was inline. */
  readonly url: string | null;
}

interface Entry {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Null for what belongs to no run, such as an imported message. */
  readonly runId: string | null;
}

/** What somebody said to the model. */
export interface TranscriptUser extends Entry {
  readonly type: 'user';
  readonly origin: UserMessageOrigin;
  /** The runtime wrote it, and no person. */
  readonly isRuntime: boolean;
  readonly text: string;
  readonly attachments: readonly TranscriptAttachment[];
}

/** What the model said, until it called a tool or was done. */
export interface TranscriptAssistant extends Entry {
  readonly type: 'assistant';
  readonly provider: string;
  readonly model: string;
  readonly text: string;
  /** Empty unless it was asked for. */
  readonly thinking: string;
  readonly attachments: readonly TranscriptAttachment[];
  readonly stopReason: StopReason;
  /** False when the reply broke off. */
  readonly isComplete: boolean;
}

/** A call of a tool, with its result. */
export interface TranscriptTool extends Entry {
  readonly type: 'tool';
  readonly callId: string;
  readonly toolName: string;
  /** Who ran it. */
  readonly by: 'server' | 'client' | 'provider';
  /** As it ran; as the model wrote them when it didn't. A text when they are no JSON object. */
  readonly arguments: JsonValue;
  /** `open`: it has no result. */
  readonly status: 'ok' | 'error' | 'rejected' | 'open';
  readonly text: string;
  readonly attachments: readonly TranscriptAttachment[];
  readonly durationMs: number | null;
}

/** Something that happened to the conversation. */
export interface TranscriptNote extends Entry {
  readonly type: 'note';
  readonly kind: 'forked' | 'replaced' | 'compacted' | 'paused' | 'undelivered' | 'ended' | 'open';
  /** In words, on one line or several. */
  readonly text: string;
}

/** An application's own message, by its kind. */
export interface TranscriptExtension extends Entry {
  readonly type: 'extension';
  readonly kind: string;
}

/** An entry of a transcript: a message, a tool call or an event that a reader wants to see. */
export type TranscriptEntry =
  TranscriptUser | TranscriptAssistant | TranscriptTool | TranscriptNote | TranscriptExtension;

/** A session to be read by people. Plain data: `JSON.stringify` makes a file of it. */
export interface Transcript {
  readonly sessionId: string;
  readonly title: string | null;
  /** Oldest first. */
  readonly entries: readonly TranscriptEntry[];
}

/** Options of {@link transcript}. */
export interface TranscriptOptions {
  /** What becomes of messages that the runtime wrote for the model, such as reminders. Default `omit`. */
  readonly runtimeMessages?: 'omit' | 'mark';
  /** Keep readable reasoning. Default false. */
  readonly thinking?: boolean;
}

/** What is known of a call beside the reply that asked for it. */
interface CallFacts {
  arguments?: JsonObject;
  by?: 'server' | 'client';
  durationMs?: number;
  result?: { readonly status: TranscriptTool['status']; readonly content: readonly ToolResultContent[] };
}

/** A message or a note, in the order of the log. */
type Item = Entry & ({ readonly message: Message; readonly isComplete: boolean } | { readonly note: TranscriptNote });

/**
 * A session as it is told to people: what was said, which tools were called and what came of it. Images and files are
 * named, not included. `transcriptText` and `transcriptMarkdown` write it down.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal } from '@treadle/core';
 * import { transcript, transcriptText } from '@treadle/core/projections';
 * import { logOf, scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal });
 * await session.prompt('Hi').result;
 *
 * const { entries } = transcript(await logOf(journal, session.id));
 * console.log(entries.map(({ type }) => type)); // [ 'user', 'assistant' ]
 * ```
 */
export function transcript(events: Iterable<DurableEvent>, options: TranscriptOptions = {}): Transcript {
  const log: Reading = {
    sessionId: '',
    title: sessionTitleFold(),
    items: [],
    calls: new Map(),
    queued: new Set(),
    openRun: null,
  };
  for (const event of events) {
    log.title.take(event);
    read(log, event);
  }
  const { sessionId, openRun } = log;
  const title = log.title.title();
  const entries = log.items.flatMap((item) => ('note' in item ? [item.note] : entriesOf(item, log.calls, options)));
  if (openRun) entries.push({ ...openRun, type: 'note', kind: 'open', text: 'This run has not ended.' });
  return { sessionId, title, entries };
}

/** What was read of a log so far. */
interface Reading {
  sessionId: string;
  readonly title: SessionTitleFold;
  readonly items: Item[];
  readonly calls: Map<string, CallFacts>;
  /** Inputs that are messages to a run. */
  readonly queued: Set<number>;
  openRun: Entry | null;
}

function read(log: Reading, event: DurableEvent): void {
  switch (event.type) {
    case 'session_created':
      log.sessionId = event.sessionId;
      if (event.fork) addNote(log, 'forked', event, `Forked from session ${event.fork.sessionId}.`);
      return;
    case 'input_received':
      return readInput(log, event);
    case 'input_rejected':
      if (log.queued.has(event.inputSeq)) addNote(log, 'undelivered', event, `Not delivered: ${event.reason}`);
      return;
    case 'run_started':
      log.openRun = { at: event.at, runId: event.runId };
      return;
    case 'message_added':
      return addMessage(log, event.message, event.runId, event.inView && !isBrokenOff(event.message));
    case 'compacted':
      return addNote(log, 'compacted', event, compactedText(event.messagesBefore, event.messagesAfter));
    case 'run_paused':
      return addNote(log, 'paused', event, pausedText(event.pending));
    case 'run_ended':
      log.openRun = null;
      if (event.status !== 'completed') addNote(log, 'ended', event, endedText(event.status, event.message));
      return;
    default:
      return noteCall(log.calls, event);
  }
}

function readInput(log: Reading, event: Extract<DurableEvent, { type: 'input_received' }>): void {
  const { input, seq } = event;
  if (input.type === 'steering' || input.type === 'follow_up') log.queued.add(seq);
  if (input.type === 'extension') return addMessage(log, input.message, log.openRun?.runId ?? null, true);
  // During a run an import is refused.
  if (input.type !== 'import' || log.openRun) return;
  addNote(log, 'replaced', event, replacedText(input.messages.length));
  for (const message of input.messages) addMessage(log, message, null, true);
}

function addNote({ items }: Reading, kind: TranscriptNote['kind'], event: DurableEvent, text: string): void {
  const { at } = event;
  const runId = ('runId' in event ? event.runId : undefined) ?? null;
  items.push({ at, runId, note: { type: 'note', at, runId, kind, text } });
}

function addMessage({ items, calls }: Reading, message: Message, runId: string | null, isComplete: boolean): void {
  items.push({ at: message.at, runId, message, isComplete });
  if (message.role !== 'tool') return;
  factsOf(calls, message.callId).result = { status: message.isError ? 'error' : 'ok', content: message.content };
}

function factsOf(calls: Map<string, CallFacts>, callId: string): CallFacts {
  const known = calls.get(callId) ?? {};
  calls.set(callId, known);
  return known;
}

function noteCall(calls: Map<string, CallFacts>, event: DurableEvent): void {
  if (event.type === 'tool_started') {
    const facts = factsOf(calls, event.callId);
    facts.arguments = event.arguments;
    facts.by = event.runs;
  } else if (event.type === 'tool_ended') {
    const facts = factsOf(calls, event.callId);
    facts.result = { status: event.isError ? 'error' : 'ok', content: event.content };
    facts.durationMs = event.durationMs;
  } else if (event.type === 'tool_call_rejected') {
    factsOf(calls, event.callId).result = { status: 'rejected', content: event.content };
  }
}

const isBrokenOff = (message: Message): boolean =>
  message.role === 'assistant' && (message.stopReason === 'error' || message.stopReason === 'aborted');

const replacedText = (count: number): string =>
  count === 0 ? 'The conversation was cleared.' : `The conversation was replaced by one of ${count} messages.`;

const compactedText = (before: number, after: number): string =>
  `What the model sees was made smaller: ${before} messages became ${after}.`;

const pausedText = (pending: readonly PendingCall[]): string =>
  `Paused, until there is an answer for: ${pending.map(({ toolName }) => toolName).join(', ')}.`;

const endedText = (status: RunStatus, message: string | undefined): string =>
  `The run ended as ${status}${message === undefined ? '.' : `: ${message}`}`;

type MessageItem = Extract<Item, { readonly message: Message }>;

const SAID: ReadonlySet<UserMessageOrigin> = new Set(['prompt', 'steering', 'follow_up', 'import']);

function entriesOf(
  item: MessageItem,
  calls: ReadonlyMap<string, CallFacts>,
  options: TranscriptOptions,
): TranscriptEntry[] {
  const { message, at, runId } = item;
  if (message.role === 'extension') return [{ type: 'extension', at, runId, kind: message.kind }];
  // A call and its result are one entry, where the call is.
  if (message.role === 'tool') return [];
  if (message.role === 'assistant') return assistantEntries(item, message, calls, options.thinking === true);
  const isRuntime = !SAID.has(message.origin);
  if (isRuntime && options.runtimeMessages !== 'mark') return [];
  const { origin, content } = message;
  return [{ type: 'user', at, runId, origin, isRuntime, text: textOf(content), attachments: attachmentsOf(content) }];
}

function assistantEntries(
  { at, runId, isComplete }: MessageItem,
  { content, provider, model, stopReason }: AssistantMessage,
  calls: ReadonlyMap<string, CallFacts>,
  withThinking: boolean,
): TranscriptEntry[] {
  const entries: TranscriptEntry[] = [];
  let said: AssistantContent[] = [];
  const flush = (): void => {
    const text = textOf(said);
    const thinking = withThinking ? thinkingOf(said) : '';
    const attachments = attachmentsOf(said);
    said = [];
    if (text === '' && thinking === '' && attachments.length === 0) return;
    entries.push({
      type: 'assistant',
      at,
      runId,
      provider,
      model,
      text,
      thinking,
      attachments,
      stopReason,
      isComplete,
    });
  };
  for (const block of content) {
    if (block.type === 'tool_call') {
      const spoken = saysNothing(calls.get(block.callId)) ? null : stopToolText(block.name, block.arguments);
      if (spoken === null) {
        flush();
        entries.push(toolEntry(block, calls.get(block.callId) ?? {}, { at, runId }));
      } else said.push({ type: 'text', text: spoken });
    } else if (block.type === 'provider_tool_call') {
      flush();
      entries.push(providerToolEntry(block, content, { at, runId }));
    } else said.push(block);
  }
  flush();
  return entries;
}

/** A call that came to nothing said nothing to anybody. */
const saysNothing = (facts: CallFacts | undefined): boolean =>
  facts?.result?.status === 'error' || facts?.result?.status === 'rejected';

function toolEntry(block: Omit<ToolCallBlock, 'type'>, facts: CallFacts, entry: Entry): TranscriptTool {
  const { result } = facts;
  return {
    type: 'tool',
    ...entry,
    callId: block.callId,
    toolName: block.name,
    by: facts.by ?? 'server',
    arguments: facts.arguments ?? block.argumentsText ?? block.arguments,
    status: result?.status ?? 'open',
    text: textOf(result?.content ?? []),
    attachments: attachmentsOf(result?.content ?? []),
    durationMs: facts.durationMs ?? null,
  };
}

/** A call that the provider ran itself. What came of it is in the provider's own words, for the provider. */
function providerToolEntry(
  { callId, name, arguments: args }: Extract<AssistantContent, { readonly type: 'provider_tool_call' }>,
  content: readonly AssistantContent[],
  entry: Entry,
): TranscriptTool {
  const result = content.find((block) => block.type === 'provider_tool_result' && block.callId === callId);
  const isError = result?.type === 'provider_tool_result' && result.isError;
  const facts: CallFacts = result ? { result: { status: isError ? 'error' : 'ok', content: [] } } : {};
  const call = { callId, name, arguments: {} };
  return { ...toolEntry(call, facts, entry), by: 'provider', arguments: args };
}

const textOf = (content: readonly AssistantContent[]): string => textsOf(content).join('\n');

const thinkingOf = (content: readonly AssistantContent[]): string =>
  content.flatMap((block) => (block.type === 'thinking' ? [block.text] : [])).join('\n');

const attachmentsOf = (content: readonly AssistantContent[]): TranscriptAttachment[] =>
  content.flatMap((block) => (block.type === 'image' || block.type === 'file' ? [attachmentOf(block)] : []));

function attachmentOf(block: ImageBlock | FileBlock): TranscriptAttachment {
  const { data, url } = block;
  // A data URL is the file itself.
  const inline = data ?? (url?.startsWith('data:') === true ? url.slice(url.indexOf(',') + 1) : undefined);
  return {
    kind: block.type,
    mediaType: block.mediaType,
    name: (block.type === 'file' ? block.name : undefined) ?? null,
    bytes: inline === undefined ? null : Math.floor((inline.replace(/=+$/, '').length * 3) / 4),
    url: inline === undefined ? (url ?? null) : null,
  };
}
