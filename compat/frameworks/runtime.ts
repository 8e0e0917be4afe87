// Serves the agent with the own server of Bun or Deno, and prints its port.
import { server } from './agent.ts';

interface Runtimes {
  readonly Bun?: { serve(options: object): { readonly port: number } };
  readonly Deno?: { serve(options: object, handler: (request: Request) => Response | Promise<Response>): object };
}

const { Bun, Deno } = globalThis as Runtimes;
if (Bun) console.log(`port ${Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: server.fetch }).port}`);
const onListen = ({ port }: { readonly port: number }): void => console.log(`port ${port}`);
if (Deno) Deno.serve({ port: 0, hostname: '127.0.0.1', onListen }, (request) => server.fetch(request));
