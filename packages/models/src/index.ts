export type { AwsCredentials, AwsCredentialSource, AwsSignatureOptions } from './auth/aws-options.ts';
export { awsSignature } from './auth/aws.ts';
export { bearerToken } from './auth/bearer.ts';
export type { TokenSource } from './auth/bearer.ts';
export type { CredentialProvider, UnauthorizedRequest } from './auth/credentials.ts';
export { cacheHitRate, CATALOGUE, checkRow, lookUp, priceOf } from './catalogue/index.ts';
export type {
  CataloguePrice,
  CatalogueRow,
  Cost,
  InputModality,
  PriceOptions,
  PriceTier,
  TokenPrices,
} from './catalogue/index.ts';
export type { GoogleServiceAccount, GoogleTokenOptions } from './auth/google-options.ts';
export { googleToken } from './auth/google.ts';
export { anthropic, ANTHROPIC } from './deployments/anthropic.ts';
export type { AnthropicOptions } from './deployments/anthropic.ts';
export { AZURE, azure } from './deployments/azure.ts';
export type { AzureOptions } from './deployments/azure.ts';
export { BEDROCK, bedrock } from './deployments/bedrock.ts';
export type { BedrockOptions } from './deployments/bedrock.ts';
export { deploymentBaseUrl, deploymentModel } from './deployments/deployment.ts';
export type { Deployment, ModelOptions, WireName } from './deployments/deployment.ts';
export { GOOGLE, google } from './deployments/google.ts';
export type { GoogleOptions } from './deployments/google.ts';
export { OLLAMA, ollama } from './deployments/ollama.ts';
export type { OllamaOptions } from './deployments/ollama.ts';
export { CHAT_SERVERS } from './deployments/chat-servers.ts';
export { openai, OPENAI_CHAT } from './deployments/openai.ts';
export { AZURE_CHAT, OPENAI } from './deployments/openai-both.ts';
export type { OpenAIOptions } from './deployments/openai.ts';
export { OPENAI_COMPATIBLE, openaiCompatible } from './deployments/openai-compatible.ts';
export type { OpenAICompatibleOptions } from './deployments/openai-compatible.ts';
export { OPENAI_RESPONSES, openaiResponsesModel } from './deployments/openai-responses.ts';
export type { OpenAIResponsesOptions } from './deployments/openai-responses.ts';
export { VERTEX, vertex } from './deployments/vertex.ts';
export type { VertexOptions } from './deployments/vertex.ts';
export { DEPLOYMENTS, keysIn, resolveModel } from './deployments.ts';
export { fetchHttp } from './http/fetch-http.ts';
export type { FetchLike } from './http/fetch-http.ts';
export { nodeHttp } from './http/node-http.ts';
export type { NodeHttpOptions } from './http/node-http.ts';
export type { Environment } from './http/proxy.ts';
export type { HttpTimeouts } from './http/timeouts.ts';
export { wireModel } from './model.ts';
export type { WireModelOptions } from './model.ts';
export { anthropicMessages } from './protocols/anthropic/protocol.ts';
export type { AnthropicQuirks } from './protocols/anthropic/quirks.ts';
export { bedrockConverse } from './protocols/bedrock/protocol.ts';
export type { BedrockQuirks } from './protocols/bedrock/quirks.ts';
export { gemini } from './protocols/gemini/protocol.ts';
export type { GeminiQuirks } from './protocols/gemini/quirks.ts';
export { ollamaChat } from './protocols/ollama/protocol.ts';
export type { OllamaQuirks } from './protocols/ollama/quirks.ts';
export { openaiChat } from './protocols/openai-chat/protocol.ts';
export type { OpenAIChatQuirks } from './protocols/openai-chat/quirks.ts';
export { openaiResponses } from './protocols/openai-responses/protocol.ts';
export type { OpenAIResponsesQuirks } from './protocols/openai-responses/quirks.ts';
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
export { createSseScanner } from './sse/scanner.ts';
export { promptedTools } from './prompted/prompted-tools.ts';
export type { PromptedToolsOptions } from './prompted/prompted-tools.ts';
export type { PromptSections } from './prompted/prompt.ts';
