export { guardedHttp } from './guarded-http.ts';
export type { GuardedHttp, GuardedHttpOptions, GuardedResponse } from './guarded-http.ts';
export type { HttpLimits } from './limits.ts';
export type { Resolve } from './target.ts';
export { addressProblem } from './public-address.ts';
export { HttpProblem } from './problem.ts';
export type { HttpProblemCode } from './problem.ts';
