import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { ProviderRequest } from '@treadle/testing';

// Thinking that is bound to its prefix: the instructions, the tools and the messages before it. Marks for the cache and
// the thinking blocks themselves don't count, and the oldest blocks may be left out, but nothing in their middle.

const isThinking = (block: JsonObject): boolean =>
  block['type'] === 'thinking' || block['type'] === 'redacted_thinking' || block['reasoningContent'] !== undefined;

/** A value without what the service leaves out of account. */
function counted(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[];
    return items
      .filter((item) => !isJsonObject(item) || (!isThinking(item) && item['cachePoint'] === undefined))
      .map((item) => counted(item) ?? null);
  }
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'cache_control');
  return Object.fromEntries(kept.map(([key, item]) => [key, counted(item)]));
}

interface Message extends JsonObject {
  readonly content: JsonValue;
}

const partsOf = (body: JsonObject): { readonly head: readonly unknown[]; readonly messages: readonly Message[] } => {
  const messages = body['messages'];
  const config = body['toolConfig'];
  const tools = isJsonObject(config) ? config['tools'] : body['tools'];
  return {
    head: [counted(body['system']) ?? null, counted(tools) ?? null],
    messages: Array.isArray(messages) ? messages.filter((message): message is Message => isJsonObject(message)) : [],
  };
};

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

const blocksOf = ({ content }: Message): readonly JsonObject[] =>
  Array.isArray(content) ? (content as readonly JsonValue[]).filter((block) => isJsonObject(block)) : [];

const signatureOf = (block: JsonObject): string => {
  const reasoning = block['reasoningContent'];
  const text = isJsonObject(reasoning) ? reasoning['reasoningText'] : undefined;
  const signature = isJsonObject(text) ? text['signature'] : block['signature'];
  return typeof signature === 'string' ? signature : '';
};

/** The signatures in a request, each with the prefix it stands behind. */
function signaturesIn(
  body: JsonObject,
): { readonly signature: string; readonly prefix: string; readonly path: string }[] {
  const { head, messages } = partsOf(body);
  return messages.flatMap((message, index) =>
    blocksOf(message).flatMap((block, position) => {
      if (!isThinking(block)) return [];
      const prefix = digest([head, counted(messages.slice(0, index))]);
      return [{ signature: signatureOf(block), prefix, path: `messages.${index}.content.${position}` }];
    }),
  );
}

/** The signature for thinking in the reply to a request: its prefix, and the block before it. */
export function boundSignature({ body }: ProviderRequest): string {
  if (!isJsonObject(body)) return '';
  const { head, messages } = partsOf(body);
  const before = signaturesIn(body).at(-1)?.signature ?? '';
  return `${digest([head, counted(messages)])}.${digest(before)}`;
}

const BETA = 'thinking-binding-controls-2026-08-01';

/** Why the service refuses the thinking in a request, unless it was told to drop what doesn't fit. */
export function bindingProblem({ body, headers, wire }: ProviderRequest): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const thinking = body['thinking'];
  const binding = isJsonObject(thinking) ? thinking['block_binding'] : undefined;
  const hasBeta = (headers['anthropic-beta'] ?? '').includes(BETA);
  if (binding !== undefined && (!hasBeta || wire !== 'anthropic-messages')) {
    return 'thinking.block_binding: Extra inputs are not permitted';
  }
  if (isJsonObject(binding) && binding['prefix_mismatch_behavior'] === 'drop_block') return undefined;
  let before: string | undefined;
  for (const { signature, prefix, path } of signaturesIn(body)) {
    const [own, after] = signature.split('.');
    const follows = before === undefined || digest(before) === after;
    before = signature;
    if (own === prefix && follows) continue;
    return (
      `${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the ` +
      'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    );
  }
  return undefined;
}
