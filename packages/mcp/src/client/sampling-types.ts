import type * as sdk from '@modelcontextprotocol/client';

// Servers of the older protocol still ask for model calls, and will for a while.

// oxlint-disable-next-line typescript/no-deprecated -- see above
export type SamplingRequest = sdk.CreateMessageRequestParams;
// oxlint-disable-next-line typescript/no-deprecated -- see above
export type SamplingResult = sdk.CreateMessageResult;

/** Makes a model call for a server. */
export type Sample = (request: SamplingRequest, signal: AbortSignal) => Promise<SamplingResult>;
