import { createHash, timingSafeEqual } from 'node:crypto';
import { jsonResponse, RequestError, type Route } from '@treadle/server';
import type { Projects } from './projects.ts';
import { RequestProblem } from './request.ts';

const COOKIE = 'streamed-file';

/** The token in the cookie of a request; empty when there is none. */
export function cookieOf(headers: Headers): string {
  const found = headers
    .get('cookie')
    ?.split(/; */)
    .find((pair) => pair.startsWith(`${COOKIE}=`));
  return found?.slice(COOKIE.length + 1) ?? '';
}

/** Compares in the same time, whatever is given. */
export function tokenCheck(token: string): (given: string) => boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const known = digest(token);
  return (given) => timingSafeEqual(digest(given), known);
}

const YEAR_S = 365 * 24 * 60 * 60;

/** What the page asks for besides the WebSocket. */
export const projectRoutes = (projects: Projects): Route[] => [
  {
    method: 'post',
    path: '/login',
    id: 'login',
    summary: 'Keeps the token of the request in a cookie.',
    success: { status: 200, description: 'The cookie is set.' },
    handle({ token }) {
      const response = jsonResponse({});
      const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${YEAR_S}`;
      if (token !== '') response.headers.set('set-cookie', `${COOKIE}=${token}; ${attributes}`);
      return Promise.resolve(response);
    },
  },
  {
    method: 'get',
    path: '/projects',
    id: 'listProjects',
    summary: 'Lists the newest projects.',
    success: { status: 200, description: '`projects`, each with `id`, `title` and `updatedAt`.' },
    handle: async () => jsonResponse({ projects: await projects.list() }),
  },
  {
    method: 'post',
    path: '/projects/{project}/show',
    id: 'showVersion',
    summary: 'Shows what an earlier or later run left.',
    body: {
      type: 'object',
      properties: { variant: { type: 'integer', minimum: 0 }, run: { type: 'integer', minimum: 1 } },
      required: ['variant', 'run'],
      additionalProperties: false,
    },
    success: { status: 200, description: 'It is shown.' },
    async handle({ path, body }) {
      const project = await projects.find(path['project'] ?? '');
      if (!project) throw new RequestError('not_found', 'There is no such project.');
      try {
        await project.show(Number(body['variant']), Number(body['run']));
      } catch (error) {
        if (!(error instanceof RequestProblem || error instanceof RangeError)) throw error;
        throw new RequestError('bad_request', error.message);
      }
      return jsonResponse({});
    },
  },
];
