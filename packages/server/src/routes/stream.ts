import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { StreamFormat } from '../encoders/encoder.ts';
import { errorField } from '../log.ts';
import { snapshotOf } from '../operations/sessions.ts';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { placeIn } from '../security/tickets.ts';
import type { Principal } from '../security/tokens.ts';
import { BEGINNING, parsePosition, type Position } from '../streams/position.ts';
import { openReader } from '../streams/reader.ts';
import { bodySink, nodeSink } from '../streams/response-sink.ts';
import { oneRun, wholeSession, type RunRef, type Scope } from '../streams/scope.ts';
import type { Sink } from '../streams/sink.ts';
import type { RouteCall } from './serving/route.ts';

export interface StreamRequest {
  readonly from: Position;
  /** Default: the whole session. */
  readonly scope?: Scope;
  readonly runId?: string;
  /** Called when the client closes the stream before its end. */
  readonly onGone?: (() => void) | undefined;
  /** Default: the one that the request asks for by its `format`, else the native one. */
  readonly format?: StreamFormat;
}

export const wantsStream = ({ request }: RouteCall): boolean =>
  (request.headers.get('accept') ?? '').toLowerCase().includes('text/event-stream');

/**
 * The place after which a client wants to be told: its `last-event-id`, or `after` where a client can't set headers.
 *
 * @throws RequestError `invalid_cursor` for what no stream of this session has given out.
 */
export const positionOf = ({ parts, request, query, sessionId }: RouteCall): Promise<Position> =>
  positionAfter(
    parts,
    sessionId,
    request.headers.get('last-event-id') ?? (query['after'] as string | undefined) ?? null,
  );

export async function positionAfter({ journal }: ServerParts, sessionId: string, id: string | null): Promise<Position> {
  const position = id === null || id === '' ? BEGINNING : parsePosition(placeIn(id));
  if (position === null) throw new RequestError('invalid_cursor', 'This is no id of an event of a stream.');
  // Reading says that there is no such session; reading nothing, that there is no such event.
  for await (const _ of journal.read(sessionId, Math.max(1, position.seq))) return position;
  throw new RequestError('invalid_cursor', `Session ${sessionId} has no event ${position.seq} yet.`);
}

/** The format that a request names. @throws RequestError `bad_request` for one there is none of. */
export function formatOf({ formats }: ServerParts, name: string | null): StreamFormat {
  const format = formats.get(name ?? 'json');
  if (format) return format;
  const known = [...formats.keys()].join(', ');
  throw new RequestError('bad_request', `There is no format "${String(name)}". The formats are: ${known}.`);
}

/** The stream of one run as the response to a request, from an input on to the run's end or its next pause. */
export const streamRun = (
  call: Omit<RouteCall, 'sessions'>,
  sessionId: string,
  inputSeq: number,
  ref: RunRef,
  format?: StreamFormat,
): Response =>
  openStream(call, sessionId, {
    from: { seq: inputSeq - 1, message: null },
    scope: oneRun(ref),
    ...(format && { format }),
  });

/** Opens a stream of a session as the response to a request. */
export function openStream(call: Omit<RouteCall, 'sessions'>, sessionId: string, stream: StreamRequest): Response {
  const { parts, principal, node, request } = call;
  const format = stream.format ?? formatOf(parts, new URL(request.url).searchParams.get('format'));
  admitStream(parts, principal);
  const headers = {
    'content-type': format.contentType,
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    ...format.headers,
  };
  // Who asks for the headers alone gets no stream, which would have no end.
  if (call.request.method === 'HEAD') return new Response(null, { headers });
  if (node) {
    node.writeHead(200, headers);
    connect(call, sessionId, stream, format, nodeSink(node));
    return RESPONSE_ALREADY_SENT;
  }
  const { sink, body } = bodySink();
  connect(call, sessionId, stream, format, sink);
  return new Response(body, { headers });
}

/** @throws RequestError `draining`, `too_many_connections`. */
export function admitStream({ connections, limits, isDraining }: ServerParts, principal: Principal): void {
  if (isDraining()) throw new RequestError('draining', 'The server is about to stop. Try again, elsewhere or later.');
  if (connections.size < limits.streams && connections.countOf(principal.name) < limits.streamsPerToken) return;
  throw new RequestError(
    'too_many_connections',
    'There are as many streams open as the server keeps. Close some, or wait.',
  );
}

/** Has a sink told of a session, from a place on. */
export function connect(
  { parts, principal, idSuffix = '' }: Pick<RouteCall, 'parts' | 'principal'> & { readonly idSuffix?: string },
  sessionId: string,
  { from, scope = wholeSession, runId, onGone }: StreamRequest,
  format: StreamFormat,
  sink: Sink,
): void {
  const { journal, clock, feeds, limits, connections, log } = parts;
  const reader = openReader({
    sessionId,
    ...(runId === undefined ? {} : { runId }),
    journal,
    clock,
    feed: feeds.of(sessionId),
    format,
    sink,
    scope,
    from,
    idSuffix,
    resumed: from.seq > 0,
    limits,
    snapshot: () => snapshotOf(parts, sessionId),
    onError: (error) => log('error', 'stream_failed', { sessionId, error: errorField(error) }),
    onGone,
    onSlow: () => log('warning', 'stream_too_slow', { sessionId, principal: principal.name }),
  });
  connections.add({ sink, principal: principal.name, end: reader.end });
}
