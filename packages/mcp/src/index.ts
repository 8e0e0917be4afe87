export { mcpServers } from './client/servers.ts';
export type { McpServers, McpServersOptions, McpServerStatus } from './client/servers.ts';
export type {
  HttpServerConfig,
  InProcessServer,
  InProcessServerConfig,
  McpServerConfig,
  McpServerConfigs,
  StdioServerConfig,
} from './client/config.ts';
export type { McpEvent } from './client/connection.ts';
export type { McpPrompt } from './client/prompts.ts';
export { McpProblem } from './client/problem.ts';
export type { McpProblemCode } from './client/problem.ts';
export type { SamplingOptions } from './client/sampling.ts';
export { fileCache } from './client/cache.ts';
export type { McpCache } from './client/cache.ts';
export { browserLogin, savedLogin } from './login/login.ts';
export type { LoginOptions, McpLogin, OAuthOptions } from './login/login.ts';
export { fileCredentials } from './login/store.ts';
export type { Credentials, CredentialStore } from './login/store.ts';
export { readMcpFile } from './files/read.ts';
export type { FileServer } from './files/read.ts';
export type { FileVariables } from './files/expand.ts';
export { mcpServer } from './server/agent-server.ts';
export type { McpAgentServer, McpServerOptions } from './server/agent-server.ts';
export type { AgentPrompt, PromptContent } from './server/prompts.ts';
export type { AgentResource } from './server/resources.ts';
export { serveMcp } from './server/http.ts';
export type { ServeMcpOptions, ServingMcp } from './server/http.ts';
