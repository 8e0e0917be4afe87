export { GOOGLE, google } from './deployments/google.ts';
export type { GoogleOptions } from './deployments/google.ts';
export type { Deployment, ModelOptions } from './deployments/deployment.ts';
export { gemini } from './protocols/gemini/protocol.ts';
export type { GeminiQuirks } from './protocols/gemini/quirks.ts';
