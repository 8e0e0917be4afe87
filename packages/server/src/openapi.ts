import type { JsonObject, JsonSchema } from '@treadle/core';
import { statusOf } from './problem.ts';
import type { Route } from './routes/serving/route.ts';

const VERSION = '0.1.0';

/** What every request may be answered with. */
const COMMON = ['bad_request', 'unauthorized', 'forbidden', 'not_found', 'too_many_requests', 'draining'];

const PROBLEM: JsonSchema = {
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'Stable: it never changes its meaning.' },
    detail: { type: 'string', description: 'What was wrong and what to do, for people.' },
  },
  required: ['type', 'title', 'status', 'code', 'detail'],
};

/** The API as an OpenAPI 3.1 document: made of the routes that serve it. */
export function describeApi(routes: readonly Route[], basePath = ''): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    Object.assign(paths[route.path] ?? {}, { [route.method]: operation(route) });
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Treadle', version: VERSION, description: 'Agents over HTTP. Each stream is a reader of a log.' },
    ...(basePath !== '' && { servers: [{ url: basePath }] }),
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: PROBLEM },
    },
  };
}

function operation(route: Route): JsonObject {
  const { status, description, contentType } = route.success;
  const ok: JsonObject = {
    description,
    ...(status === 204 ? {} : { content: { [contentType ?? 'application/json']: {} } }),
  };
  return {
    operationId: route.id,
    summary: route.summary,
    parameters: parameters(route),
    ...requestBody(route),
    responses: { [String(status)]: ok, ...problems(route) },
  };
}

function parameters({ method, path, query = {} }: Route): JsonObject[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const schema = { type: 'string' };
    return { name, in: 'path', required: true, schema };
  });
  const inQuery = Object.entries(query).map(([name, described]) => ({
    name,
    in: 'query',
    required: false,
    ...described,
  }));
  const key: JsonObject = {
    name: 'idempotency-key',
    in: 'header',
    required: false,
    schema: { type: 'string', maxLength: 200 },
    description: 'A request that is made again under the same key counts once.',
  };
  return [...inPath, ...inQuery, ...(method === 'post' ? [key] : [])];
}

function requestBody({ body, bodyType }: Route): JsonObject {
  if (body !== undefined) return { requestBody: { content: { 'application/json': { schema: body } } } };
  if (bodyType === undefined) return {};
  return { requestBody: { required: true, content: { [bodyType]: {} } } };
}

/** By status, with the codes that it may stand for. */
function problems(route: Route): JsonObject {
  const codes = Map.groupBy([...COMMON, ...(route.problems ?? [])], statusOf);
  const schema = { $ref: '#/components/schemas/Problem' };
  return Object.fromEntries(
    [...codes].map(([status, names]) => [
      String(status),
      { description: names.join(', '), content: { 'application/problem+json': { schema } } },
    ]),
  );
}
