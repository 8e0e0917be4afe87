export type { GoogleServiceAccount, GoogleTokenOptions } from './auth/google-options.ts';
export { googleToken } from './auth/google.ts';
export { VERTEX, vertex } from './deployments/vertex.ts';
export type { VertexOptions } from './deployments/vertex.ts';
export type { Deployment, ModelOptions } from './deployments/deployment.ts';
export { gemini } from './protocols/gemini/protocol.ts';
export type { GeminiQuirks } from './protocols/gemini/quirks.ts';
