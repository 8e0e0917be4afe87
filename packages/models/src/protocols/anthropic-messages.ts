import { sseFraming } from '../sse/scanner.ts';
import { createAnthropicDecoder, readAnthropicError } from './anthropic-decode.ts';
import { createAnthropicEncoder } from './anthropic-encode.ts';
import { ANTHROPIC_DEFAULTS } from './anthropic-quirks.ts';
import type { AnthropicQuirks } from './anthropic-quirks.ts';
import type { Protocol } from './protocol.ts';

/**
 * The Anthropic Messages wire.
 *
 * A second `start` in its events means that the provider began its answer again: what came before it is void.
 */
export function anthropicMessages(quirks: AnthropicQuirks = {}): Protocol {
  const all = { ...ANTHROPIC_DEFAULTS, ...quirks };
  return {
    name: 'anthropic-messages',
    framing: sseFraming,
    contentType: 'text/event-stream',
    createEncoder: (target) => createAnthropicEncoder(target, all),
    createDecoder: createAnthropicDecoder,
    readError: readAnthropicError,
  };
}
