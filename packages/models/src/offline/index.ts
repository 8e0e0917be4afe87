export { offlineModel } from './model.ts';
export type { OfflineModelOptions } from './model.ts';
export { offlineDemoPrompt } from './demo.ts';
