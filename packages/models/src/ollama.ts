export type { Deployment, ModelOptions } from './deployments/deployment.ts';
export { OLLAMA, ollama } from './deployments/ollama.ts';
export type { OllamaOptions } from './deployments/ollama.ts';
export { ollamaChat } from './protocols/ollama/protocol.ts';
export type { OllamaQuirks } from './protocols/ollama/quirks.ts';
