// The port of models: requests, events, usage, retries. For authors of wires.
export * from '../model/check-usage.ts';
export * from '../model/files.ts';
export * from '../model/model.ts';
export * from '../model/partial-json.ts';
export type { AssumedPrice, UnknownPrice } from '../model/price.ts';
export * from '../model/retry.ts';
export * from '../model/usage.ts';
