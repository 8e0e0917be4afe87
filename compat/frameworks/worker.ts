import { server } from './agent.ts';

// What Cloudflare's runtime looks for.
export default { fetch: (request: Request) => server.fetch(request) };
