// JSON values, their limits, and the JSON Schema validator.
export * from '../json-schema/validate.ts';
export * from '../json.ts';
export { canonicalJson } from '../canonical.ts';
