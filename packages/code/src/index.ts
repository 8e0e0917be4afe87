export { RUN_CODE, withCode } from './with-code.ts';
export type { CodeOptions } from './with-code.ts';
