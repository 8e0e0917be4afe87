import { bytesOfBody, type HttpBody } from '@treadle/core/ports';

/** A request's body as text. Throws where it is not UTF-8. */
export function bodyText(body: HttpBody | undefined): string {
  return body === undefined ? '' : new TextDecoder('utf-8', { fatal: true }).decode(bytesOfBody(body));
}
