import type { Http, Model } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import type { HttpRequest } from '@treadle/core/ports';
import type { ModelOptions } from '../deployments/deployment.ts';
import { bodyText } from './body.ts';
import { answering, REQUEST } from './streams.ts';

/** The request that a model sends, with its body as text. Nothing answers it. */
export async function sentBy(
  create: (options: ModelOptions) => Model,
  options: ModelOptions = {},
  request: ModelRequest = REQUEST,
): Promise<HttpRequest & { readonly body: string }> {
  const requests: HttpRequest[] = [];
  const http: Http = (sent) => {
    requests.push(sent);
    return answering([])(sent);
  };
  const stream = create({ env: {}, http, ...options }).stream(request, new AbortController().signal);
  for await (const event of stream) if (event.type !== 'error') throw new Error(`an empty answer gave ${event.type}`);
  // A server may be asked about its model first.
  const sent = requests.at(-1);
  if (sent === undefined) throw new Error('nothing was sent');
  return { ...sent, body: bodyText(sent.body) };
}
