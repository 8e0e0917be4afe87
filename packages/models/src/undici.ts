export type { ConnectionTimeouts, HttpTimeouts } from './http/timeouts.ts';
export { undiciHttp } from './http/undici-http.ts';
export type { UndiciHttpOptions } from './http/undici-http.ts';
