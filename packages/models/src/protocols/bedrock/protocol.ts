import { createBedrockDecoder } from './decode.ts';
import { createBedrockEncoder } from './encode.ts';
import { readBedrockError } from './error.ts';
import { bedrockFraming, startsBedrockStream } from './framing.ts';
import { BEDROCK_DEFAULTS, type BedrockQuirks } from './quirks.ts';
import type { Protocol } from '../shared/protocol.ts';

/**
 * The Amazon Bedrock ConverseStream wire: events in AWS's binary event stream, or as newline-delimited JSON.
 *
 * Both checksums of every binary message are checked; a damaged stream is an error of kind `network`.
 */
export function bedrockConverse(quirks: BedrockQuirks = {}): Protocol {
  const all = { ...BEDROCK_DEFAULTS, ...quirks };
  return {
    name: 'bedrock-converse',
    framing: bedrockFraming,
    contentType: 'application/vnd.amazon.eventstream',
    startsStream: startsBedrockStream,
    structuredOutput: () => (all.responseFormat === 'native' ? 'always' : undefined),
    createEncoder: (target) => createBedrockEncoder(target, all),
    createDecoder: createBedrockDecoder,
    readError: readBedrockError,
  };
}
