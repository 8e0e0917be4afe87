// A server in the client's process, with one tool.

import type { Json, OwnServer } from './client.ts';

/**
 * @param answer what a call of the tool returns
 * @param replied takes the answers to requests of the server's own
 */
export function ownServer(
  name: string,
  tool: string,
  answer: () => Promise<string>,
  replied: (message: Json) => void = () => {},
) {
  const called: string[] = [];
  const resultOf = async (method: unknown, params: Json): Promise<Json | null> => {
    if (method === 'initialize')
      return {
        protocolVersion: params['protocolVersion'],
        capabilities: { tools: {} },
        serverInfo: { name, version: '1.0.0' },
      };
    if (method === 'tools/list')
      return { tools: [{ name: tool, description: 'A tool.', inputSchema: { type: 'object' } }] };
    if (method !== 'tools/call') return null;
    called.push(String(params['name']));
    return { content: [{ type: 'text', text: await answer() }] };
  };
  const server: OwnServer = {
    type: 'sdk',
    name,
    async answer(message) {
      const { method, id, params = {} } = message;
      if (method === undefined) replied(message);
      if (id === undefined || method === undefined) return null;
      const result = await resultOf(method, params as Json);
      if (result !== null) return { jsonrpc: '2.0', id, result };
      return {
        jsonrpc: '2.0',
        id,
        error: { code: -32_601, message: `There is no method ${typeof method === 'string' ? method : ''}.` },
      };
    },
  };
  return { ...server, called };
}
