import type { AssistantContent, AssistantMessage, TreadleEvent } from '@treadle/core';

/** Which block of which reply. */
export interface BlockPlace {
  readonly runId: string;
  readonly messageId: string;
  /** Its place in the message's content. */
  readonly index: number;
}

/** What a block holds. */
export type BlockKind =
  | { readonly kind: 'text' | 'thinking' }
  | { readonly kind: 'call'; readonly callId: string; readonly toolName: string };

/** What happens to a model's reply while it is streamed. Everything that begins ends, whatever becomes of the call. */
export type ReplyPart =
  | (BlockPlace & BlockKind & { readonly type: 'block_started' })
  | (BlockPlace & BlockKind & { readonly type: 'block_delta'; readonly text: string })
  | (BlockPlace & BlockKind & { readonly type: 'block_ended' })
  /** A block that is never streamed: an image, a file, what the provider did by itself. */
  | (BlockPlace & { readonly type: 'block'; readonly block: AssistantContent })
  /** All of its blocks have ended. */
  | { readonly type: 'reply_ended'; readonly runId: string; readonly message: AssistantMessage }
  /** What was streamed of it is void: the call failed, was cut off, or the provider began again. Its blocks have ended. */
  | { readonly type: 'reply_void'; readonly runId: string; readonly messageId: string };

interface OpenBlock {
  readonly place: BlockPlace;
  readonly block: BlockKind;
  /** Characters that were told, with those before the first delta that came here. */
  told: number;
  ended: boolean;
}

interface OpenReply {
  readonly runId: string;
  readonly messageId: string;
  readonly blocks: Map<number, OpenBlock>;
}

/**
 * Folds live deltas and finished messages into parts of replies, so that an encoder needs not know which of the two a text
 * came by: a message that nobody streamed is told as a whole, and one whose end is missing is completed.
 */
export interface ReplyFold {
  /** The parts that an event stands for; none for events that are not about a reply. */
  take(event: TreadleEvent): ReplyPart[];
}

/** Starts the fold. Runs are kept apart: replies of sub-agents stream beside their parent's. */
export function replyFold(): ReplyFold {
  const open = new Map<string, OpenReply>();

  function replyOf(runId: string, messageId: string): OpenReply {
    const known = open.get(runId);
    if (known?.messageId === messageId) return known;
    const reply: OpenReply = { runId, messageId, blocks: new Map() };
    open.set(runId, reply);
    return reply;
  }

  function endBlock(block: OpenBlock, parts: ReplyPart[]): void {
    if (block.ended) return;
    block.ended = true;
    parts.push({ type: 'block_ended', ...block.place, ...block.block });
  }

  function startBlock(reply: OpenReply, index: number, block: BlockKind, told: number, parts: ReplyPart[]): OpenBlock {
    // Texts come one after the other; calls of one reply may be written at the same time.
    for (const other of reply.blocks.values()) if (other.block.kind !== 'call') endBlock(other, parts);
    const place = { runId: reply.runId, messageId: reply.messageId, index };
    const started: OpenBlock = { place, block, told, ended: false };
    reply.blocks.set(index, started);
    parts.push({ type: 'block_started', ...place, ...block });
    return started;
  }

  function tell(block: OpenBlock, text: string, parts: ReplyPart[]): void {
    if (text === '') return;
    block.told += text.length;
    parts.push({ type: 'block_delta', ...block.place, ...block.block, text });
  }

  function voidReply(runId: string): ReplyPart[] {
    const reply = open.get(runId);
    if (!reply) return [];
    open.delete(runId);
    const parts: ReplyPart[] = [];
    for (const block of reply.blocks.values()) endBlock(block, parts);
    if (reply.blocks.size > 0) parts.push({ type: 'reply_void', runId, messageId: reply.messageId });
    return parts;
  }

  function delta(event: Extract<TreadleEvent, { type: 'message_delta' }>): ReplyPart[] {
    const kind = kindOfDelta(event);
    if (kind === null) return [];
    const reply = replyOf(event.runId, event.messageId);
    const parts: ReplyPart[] = [];
    const known = reply.blocks.get(event.index);
    const block = known ?? startBlock(reply, event.index, kind, event.offset, parts);
    // A reader that joined may be told again what it knows.
    if (!block.ended) tell(block, event.text.slice(Math.max(0, block.told - event.offset)), parts);
    return parts;
  }

  function finished(runId: string, message: AssistantMessage): ReplyPart[] {
    const parts: ReplyPart[] = [];
    const current = open.get(runId);
    if (current && current.messageId !== message.id) parts.push(...voidReply(runId));
    const reply = replyOf(runId, message.id);
    for (const [index, content] of message.content.entries()) {
      const whole = wholeOf(content);
      if (whole === null) {
        parts.push({ type: 'block', runId, messageId: message.id, index, block: content });
        continue;
      }
      const known = reply.blocks.get(index);
      const block = known ?? startBlock(reply, index, whole.kind, 0, parts);
      // The arguments of a streamed call are told as the model wrote them; here they are as they were understood.
      const rest = known && whole.kind.kind === 'call' && known.told > 0 ? '' : whole.text.slice(block.told);
      if (!block.ended) tell(block, rest, parts);
      endBlock(block, parts);
    }
    for (const block of reply.blocks.values()) endBlock(block, parts);
    open.delete(runId);
    parts.push({ type: 'reply_ended', runId, message });
    return parts;
  }

  return {
    take(event) {
      switch (event.type) {
        case 'message_delta':
          return delta(event);
        case 'message_added':
          // One that is in no view is what a failed call came to: it was said, and stays said.
          return event.message.role === 'assistant' ? finished(event.runId, event.message) : [];
        case 'message_started':
        case 'attempt_failed':
        case 'message_discarded':
        case 'run_ended':
          return voidReply(event.runId);
        default:
          return [];
      }
    },
  };
}

function kindOfDelta(event: Extract<TreadleEvent, { type: 'message_delta' }>): BlockKind | null {
  if (event.kind !== 'tool_arguments') return { kind: event.kind };
  const { callId, toolName } = event;
  // A call that has no name yet can't be shown by anybody.
  return callId === undefined || toolName === undefined ? null : { kind: 'call', callId, toolName };
}

/** The text of a block as deltas would have told it; null for blocks that are never streamed. */
function wholeOf(block: AssistantContent): { readonly kind: BlockKind; readonly text: string } | null {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return { kind: { kind: block.type }, text: block.text };
    case 'tool_call':
      return {
        kind: { kind: 'call', callId: block.callId, toolName: block.name },
        text: block.argumentsText ?? JSON.stringify(block.arguments),
      };
    default:
      return null;
  }
}
