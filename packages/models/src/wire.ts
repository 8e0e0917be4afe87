// What a wire protocol needs, without the wires of this package. For authors of wires.
export { jsonLinesFraming } from './framing/json-lines.ts';
export { nodeHttp } from './http/node-http.ts';
export { wireModel } from './model.ts';
export type { WireModelOptions } from './model.ts';
export type {
  Decoder,
  DecoderSink,
  Encoder,
  FrameHandler,
  Framing,
  FrameScanner,
  Protocol,
  WireError,
  WireRequest,
  WireTarget,
} from './protocols/shared/protocol.ts';
export { sseFraming } from './sse/scanner.ts';
