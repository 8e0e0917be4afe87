export * from './encoders/encoder.ts';
export { agUiFormat, type AgUiRequest } from './encoders/ag-ui.ts';
export { aiSdkFormat } from './encoders/ai-sdk.ts';
export { replyFold, type BlockKind, type BlockPlace, type ReplyFold, type ReplyPart } from './encoders/parts.ts';
export { runEncoder, type RunWords } from './encoders/run-encoder.ts';
export { endMessage, resultText } from './encoders/stream-end.ts';
export { nativeFormat, type ClosingNotice } from './encoders/native.ts';
export { fileBlock, invalidAt, listAt, objectAt, textAt } from './inputs/reading.ts';
export * from './app.ts';
export * from './chat-response.ts';
export * from './node/handler.ts';
export * from './node/listen.ts';
export * from './node/serve.ts';
export type { SocketRoute } from './node/upgrade.ts';
export { inProcess, type InProcess, type InProcessOptions } from './dispatch/in-process.ts';
export { DEFAULT_SERVER_LIMITS, type ServerLimits } from './limits.ts';
export type { LogRecord } from './log.ts';
export type { OfferedToolsOptions } from './offered-tools.ts';
export { sessionLogEntry, type SessionLogEntry } from './session-log.ts';
export type { ServerParts, ServerSettings } from './parts.ts';
export {
  jsonResponse,
  type Route,
  type RouteCall,
  type RouteQuery,
  type RouteRun,
  type RouteSessions,
} from './routes/serving/route.ts';
export { serverBranches, type BranchSources } from './dispatch/branches.ts';
export type { PageRequest } from './operations/catalogue.ts';
export type { RunRequest } from './operations/runs.ts';
export type { ApprovalDecision } from './inputs/client-turn.ts';
export { readBytes } from './json-body.ts';
export type { CreatedSession, NewSession, SessionStanding } from './operations/sessions.ts';
export { problemOf, problemResponse, RequestError, type Problem, type ProblemCode } from './problem.ts';
export type { TicketOptions } from './security/tickets.ts';
export type { Authenticate, AuthenticateRequest, Principal, TokenGrant } from './security/tokens.ts';
export type { OriginRules } from './security/origin.ts';
export type { RateLimit } from './security/rate.ts';
