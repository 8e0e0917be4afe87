export { AZURE, azure } from './deployments/azure.ts';
export type { AzureOptions } from './deployments/azure.ts';
export type { Deployment, ModelOptions } from './deployments/deployment.ts';
export { OPENAI_RESPONSES, openaiResponsesModel } from './deployments/openai-responses.ts';
export type { OpenAIResponsesOptions } from './deployments/openai-responses.ts';
export { openaiResponses } from './protocols/openai-responses/protocol.ts';
export type { OpenAIResponsesQuirks } from './protocols/openai-responses/quirks.ts';
