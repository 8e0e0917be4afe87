export { OPENAI_COMPATIBLE, openaiCompatible } from './deployments/openai-compatible.ts';
export type { OpenAICompatibleOptions } from './deployments/openai-compatible.ts';
export { OPENAI_CHAT, openai } from './deployments/openai.ts';
export type { OpenAIOptions } from './deployments/openai.ts';
export type { Deployment, ModelOptions } from './deployments/deployment.ts';
export { openaiChat } from './protocols/openai-chat/protocol.ts';
export type { OpenAIChatQuirks } from './protocols/openai-chat/quirks.ts';
