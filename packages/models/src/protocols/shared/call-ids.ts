import type { AssistantMessage, ModelMessage, ToolCallBlock } from '@treadle/core';

/** What a wire accepts as the id of a tool call. */
export interface CallIdRules {
  readonly pattern: RegExp;
  readonly maxLength: number;
}

/** Nine letters and digits made of `text`, always the same: the form the strictest server asks for. */
export const shortId = (text: string): string => {
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 0x01000193) >>> 0;
    low = Math.imul(low ^ high ^ (code << 8), 0x85ebca6b) >>> 0;
  }
  return (high.toString(36) + low.toString(36)).padStart(9, '0').slice(-9);
};

/**
 * Chooses wire ids: the provider's own id where the call goes back to that provider, else Treadle's, made legal for the
 * wire. No two calls of a request share one. An id depends only on the calls before it, so it stays when history grows.
 */
export function createCallIds(rules: CallIdRules) {
  const used = new Set<string>();
  const open = new Map<string, string>();

  const legal = (id: string): boolean => id.length <= rules.maxLength && rules.pattern.test(id);
  const free = (id: string | undefined): id is string => id !== undefined && legal(id) && !used.has(id);

  const choose = (call: ToolCallBlock, own: boolean): string => {
    if (own && free(call.providerCallId)) return call.providerCallId;
    const cleaned = call.callId.replace(/[^a-zA-Z0-9_-]/g, '_').slice(-rules.maxLength);
    if (free(cleaned)) return cleaned;
    for (let attempt = 0; ; attempt++) {
      const id = shortId(`${call.callId}#${attempt}`);
      if (!used.has(id)) return id;
    }
  };

  return {
    /**
     * Gives each call of a message its wire id; returns them by Treadle's. `own`: the provider that made the calls is the
     * one the request goes to.
     */
    assign({ content }: AssistantMessage, own: boolean): ReadonlyMap<string, string> {
      const wireIds = new Map<string, string>();
      for (const call of content) {
        if (call.type !== 'tool_call') continue;
        const id = choose(call, own);
        used.add(id);
        open.set(call.callId, id);
        wireIds.set(call.callId, id);
      }
      return wireIds;
    },
    /** The wire id of the call this result answers; undefined when no call waits for it. */
    take(callId: string): string | undefined {
      const id = open.get(callId);
      open.delete(callId);
      return id;
    },
    /** Wire ids of the calls without a result, in call order. From now on nothing waits. */
    takeWaiting(): readonly string[] {
      const ids = [...open.values()];
      open.clear();
      return ids;
    },
  };
}

/** What the JSON of a message depends on besides the message: the ids of its calls. */
export const keyOf = (wireIds: ReadonlyMap<string, string>): string => [...wireIds.values()].join();

/** Whether a block of this type is reasoning. */
export const isThinking = (type: string): boolean => type === 'thinking' || type === 'redacted_thinking';

/**
 * Notes the messages whose reasoning a provider doesn't take back any more: all that a request has. False when there is
 * none left. The provider wants all of it gone, not only the block that it names.
 */
export function refuseThinking(
  refused: WeakSet<ModelMessage>,
  messages: readonly ModelMessage[],
  provider: string,
): boolean {
  let found = false;
  for (const message of messages) {
    if (message.role !== 'assistant' || message.provider !== provider || refused.has(message)) continue;
    if (!message.content.some(({ type }) => isThinking(type))) continue;
    refused.add(message);
    found = true;
  }
  return found;
}

/** Whether a message has reasoning that can be sent back. */
export const hasSignedThinking = ({ content }: AssistantMessage): boolean =>
  content.some(
    (block) => block.type === 'redacted_thinking' || (block.type === 'thinking' && block.signature !== undefined),
  );

const LEGAL_NAME = /^[a-zA-Z0-9_-]+$/;

/** A tool name every server accepts; a model may have called a tool by a name that no request could carry. */
export function legalToolName(name: string, maxLength: number): string {
  if (name.length <= maxLength && LEGAL_NAME.test(name)) return name;
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxLength) || 'unnamed_tool';
}

/** What a call without a result is answered with. */
export const INTERRUPTED_RESULT =
  'The call was interrupted: there is no result, and whether it had an effect is unknown.';

/** The ids that tool calls and their results carry on the wire, and which calls still have no result. */
export type CallIds = ReturnType<typeof createCallIds>;
