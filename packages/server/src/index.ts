export * from './encoders/encoder.ts';
export { agUiFormat, type AgUiRequest } from './encoders/ag-ui.ts';
export { aiSdkFormat } from './encoders/ai-sdk.ts';
export {
  fatalError,
  GENERATE_CODE_CANCELLED,
  GENERATE_CODE_ERROR,
  generateCodeFormat,
  variantCount,
  variantModels,
  type GenerateCodeMessage,
  type GenerateCodeOptions,
  type GenerateCodeType,
} from './encoders/generate-code.ts';
export { extractHtml, updatedContentOf } from './encoders/generate-code-text.ts';
export { relayJsonFormat } from './encoders/relay-json.ts';
export { relayRawFormat } from './encoders/relay-raw.ts';
export { relayXmlFormat } from './encoders/relay-xml.ts';
export type { RelayOptions } from './encoders/relay.ts';
export { nativeFormat, type ClosingNotice } from './encoders/native.ts';
export * from './app.ts';
export * from './node/listen.ts';
export * from './node/serve.ts';
export type { SocketRoute } from './node/upgrade.ts';
export { inProcess, type InProcess, type InProcessOptions } from './dispatch/in-process.ts';
export { DEFAULT_SERVER_LIMITS, type ServerLimits } from './limits.ts';
export type { LogRecord } from './log.ts';
export type { OfferedToolsOptions } from './offered-tools.ts';
export { sessionLogEntry, type SessionLogEntry } from './session-log.ts';
export type { ServerParts } from './parts.ts';
export { problemOf, problemResponse, RequestError, type Problem, type ProblemCode } from './problem.ts';
export type { Authenticate, Principal, TokenGrant } from './security/tokens.ts';
export type { OriginRules } from './security/origin.ts';
export type { RateLimit } from './security/rate.ts';
