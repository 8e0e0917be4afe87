import type { ModelRequest } from '@treadle/core/model';
import { jsonLinesFraming } from '../../framing/json-lines.ts';
import { createOllamaDecoder } from './decode.ts';
import { createOllamaEncoder } from './encode.ts';
import { readOllamaError } from './error.ts';
import { OLLAMA_DEFAULTS, type OllamaQuirks } from './quirks.ts';
import type { Protocol } from '../shared/protocol.ts';

/** Whether a body that doesn't say what it is begins like a line of JSON. */
const startsLine = (first: Uint8Array): boolean => first[0] === 0x7b && (first.length === 1 || first[1] === 0x22);

/** Ollama's own chat wire: newline-delimited JSON, tool calls in one piece, thinking beside the text. */
export function ollamaChat(quirks: OllamaQuirks = {}): Protocol {
  const all = { ...OLLAMA_DEFAULTS, ...quirks };
  /** The windows of requests that look longer than them. */
  const tooLong = new WeakMap<ModelRequest, number>();
  return {
    name: 'ollama-chat',
    framing: jsonLinesFraming,
    contentType: 'application/x-ndjson',
    startsStream: startsLine,
    // The form holds every word of a reply, and leaves no room for a call.
    structuredOutput: () => 'without_tools',
    createEncoder: (target) => createOllamaEncoder(target, all, tooLong),
    createDecoder: (sink, request) => createOllamaDecoder(sink, () => tooLong.get(request)),
    readError: readOllamaError,
  };
}
