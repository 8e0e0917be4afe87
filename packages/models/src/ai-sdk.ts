export { aiSdkModel } from './ai-sdk/model.ts';
export type { AiSdkOptions } from './ai-sdk/model.ts';
export { asAiSdkModel } from './ai-sdk/sdk-model.ts';
export type { AiSdkModel } from './ai-sdk/sdk-model.ts';
export type { AiSdkLanguageModel } from './ai-sdk/types.ts';
