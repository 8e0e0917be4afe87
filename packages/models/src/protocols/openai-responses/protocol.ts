import { isOpenAIName, OPENAI_FAMILIES } from '../../rules/openai.ts';
import { familyOf } from '../../rules/rules.ts';
import { sseFraming } from '../../sse/scanner.ts';
import { createOpenAIResponsesDecoder } from './decode.ts';
import { createOpenAIResponsesEncoder } from './encode.ts';
import { readOpenAIResponsesError } from './error.ts';
import { OPENAI_RESPONSES_DEFAULTS, type OpenAIResponsesQuirks } from './quirks.ts';
import type { Protocol } from '../shared/protocol.ts';

/**
 * The OpenAI Responses wire, spoken by OpenAI, Azure OpenAI, xAI and several servers of open models.
 *
 * The opaque parts of its blocks hold the output items they came in, so that the next request gives them back as they
 * were: ids, phases, encrypted reasoning. A tool of the type `custom`, which takes text instead of JSON, is called with
 * that text as `{"input": "…"}`.
 */
export function openaiResponses(quirks: OpenAIResponsesQuirks = {}): Protocol {
  const all = { ...OPENAI_RESPONSES_DEFAULTS, ...quirks };
  return {
    name: 'openai-responses',
    framing: sseFraming,
    contentType: 'text/event-stream',
    structuredOutput: () => 'always',
    // Other servers of this wire have models of other names.
    deferredTools: (modelId) =>
      isOpenAIName(modelId) && familyOf(OPENAI_FAMILIES, modelId, all.family).deferredTools === true,
    createEncoder: (target) => createOpenAIResponsesEncoder(target, all),
    createDecoder: (sink, request) => createOpenAIResponsesDecoder(sink, all, request),
    readError: readOpenAIResponsesError,
  };
}
