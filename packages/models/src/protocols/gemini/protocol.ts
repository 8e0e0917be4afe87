import { sseFraming } from '../../sse/scanner.ts';
import { createGeminiDecoder } from './decode.ts';
import { createGeminiEncoder } from './encode.ts';
import { readGeminiError } from './error.ts';
import { GEMINI_DEFAULTS, geminiFamily, type GeminiQuirks } from './quirks.ts';
import type { Protocol } from '../shared/protocol.ts';

/** The Gemini wire: `streamGenerateContent`, as the Gemini API and Vertex AI speak it. */
export function gemini(quirks: GeminiQuirks = {}): Protocol {
  const all = { ...GEMINI_DEFAULTS, ...quirks };
  return {
    name: 'gemini',
    framing: sseFraming,
    contentType: 'text/event-stream',
    structuredOutput: (modelId) => (geminiFamily(modelId, all).formatWithTools ? 'always' : 'without_tools'),
    createEncoder: (target) => createGeminiEncoder(target, all),
    createDecoder: (sink) => createGeminiDecoder(sink, all.callIdPrefix),
    readError: readGeminiError,
  };
}
