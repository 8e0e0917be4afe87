import type { ModelRequest } from '@treadle/core/model';
import { ANTHROPIC_FAMILIES } from '../../rules/anthropic.ts';
import { familyOf } from '../../rules/rules.ts';
import { sseFraming } from '../../sse/scanner.ts';
import { createAnthropicDecoder, readAnthropicError } from './decode.ts';
import { createAnthropicEncoder } from './encode.ts';
import { jsonReplySink } from './json-reply.ts';
import { ANTHROPIC_DEFAULTS, type AnthropicQuirks } from './quirks.ts';
import type { DecoderSink, Protocol } from '../shared/protocol.ts';

/**
 * The Anthropic Messages wire.
 *
 * A second `start` in its events means that the provider began its answer again: what came before it is void.
 */
export function anthropicMessages(quirks: AnthropicQuirks = {}): Protocol {
  const all = { ...ANTHROPIC_DEFAULTS, ...quirks };
  /** The tool that a request's reply comes as, where it is one. A decoder may be there before the request is written. */
  const replyTools = new WeakMap<ModelRequest, string>();
  return {
    name: 'anthropic-messages',
    framing: sseFraming,
    contentType: 'text/event-stream',
    // Otherwise the reply is a tool's arguments, which the loop asks for better itself.
    structuredOutput: (modelId) =>
      familyOf(ANTHROPIC_FAMILIES, modelId, all.family).keepsSchemas === true ? 'always' : undefined,
    // The clouds that have the version in the body want a beta of their own for it.
    deferredTools: (modelId) =>
      all.versionIn === 'header' && familyOf(ANTHROPIC_FAMILIES, modelId, all.family).deferredTools === true,
    createEncoder(target) {
      const maxTokens = quirks.maxTokens ?? target.outputLimit ?? all.maxTokens;
      return createAnthropicEncoder(target, { ...all, maxTokens }, replyTools);
    },
    createDecoder(sink, request) {
      if (request.responseFormat === undefined) return createAnthropicDecoder(sink);
      let chosen: DecoderSink | undefined;
      const target = (): DecoderSink => {
        if (chosen !== undefined) return chosen;
        const tool = replyTools.get(request);
        return (chosen = tool === undefined ? sink : jsonReplySink(sink, tool));
      };
      return createAnthropicDecoder({
        event: (event) => target().event(event),
        error: (error) => target().error(error),
        malformed: (message) => target().malformed(message),
        unknown: (type) => sink.unknown(type),
      });
    },
    readError: readAnthropicError,
  };
}
