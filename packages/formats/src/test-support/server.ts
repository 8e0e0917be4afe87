import { defineAgent, memoryJournal, type Agent, type AgentDefinition, type Journal } from '@treadle/core';
import { serve, type ServeOptions, type Serving } from '@treadle/server';
import { onTestFinished } from 'vitest';
import { relayRoutes } from '../index.ts';

/** A server with the routes of the relay, on a real socket. It is closed after the test. */
export interface TestServer extends Serving {
  readonly journal: Journal;
  readonly bearer: string;
  /** A request with the token, and JSON where there is a body. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** The same, and its body as JSON. */
  json<Value = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Value>;
}

export async function startServer(
  agent: Agent | AgentDefinition,
  options: Partial<ServeOptions> = {},
): Promise<TestServer> {
  const journal = options.journal ?? memoryJournal();
  const agents = [isAgent(agent) ? agent : defineAgent(agent)];
  const serving = await serve({ agents, journal, routes: relayRoutes, ...options });
  onTestFinished(async () => {
    await serving.close(0);
  });
  const bearer = serving.token ?? '';
  const call: TestServer['call'] = (method, path, body, headers = {}) =>
    fetch(`${serving.url}${path}`, {
      method,
      headers: {
        ...(bearer === '' ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    ...serving,
    journal,
    bearer,
    call,
    json: async <Value>(method: string, path: string, body?: unknown) =>
      (await (await call(method, path, body)).json()) as Value,
  };
}

const isAgent = (agent: Agent | AgentDefinition): agent is Agent => agent.tools instanceof Map;
