import type { HttpRequest } from '@treadle/core/ports';

/** A request as tests of transports send it. */
export const post = (url: string, fields: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'POST',
  url,
  headers: {},
  body: '{}',
  ...fields,
});
