export { fetchHttp } from './http/fetch-http.ts';
export type { FetchLike } from './http/fetch-http.ts';
export type { HttpTimeouts } from './http/timeouts.ts';
