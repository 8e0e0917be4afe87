export type { TokenSource } from './auth/bearer.ts';
export { ANTHROPIC, anthropic } from './deployments/anthropic.ts';
export type { AnthropicOptions } from './deployments/anthropic.ts';
export type { Deployment, ModelOptions } from './deployments/deployment.ts';
export { anthropicMessages } from './protocols/anthropic/protocol.ts';
export type { AnthropicQuirks } from './protocols/anthropic/quirks.ts';
