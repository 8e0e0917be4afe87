import { errorText, type JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { InProcessServer } from '@treadle/mcp';

import type { Channel } from '../lines/channel.ts';

/** The part of a transport of the MCP SDK that is used. */
interface Transport {
  onmessage?: (message: JsonObject) => void;
  onclose?: () => void;
  start(): Promise<void>;
  send(message: JsonObject): Promise<void>;
  close(): Promise<void>;
}

/** The servers that run in the client's process, each behind the channel. */
export interface ClientServers {
  /** What `mcpServers` of `@treadle/mcp` takes in the place of a server of this process. */
  server(name: string): InProcessServer;
  /** A message of a server's own accord. */
  take(name: string, message: JsonObject): void;
}

export function clientServers(channel: Channel): ClientServers {
  const transports = new Map<string, Transport>();
  return {
    server: (name) => ({
      async connect(given: never): Promise<void> {
        const transport: Transport = given;
        transports.set(name, transport);
        const onmessage = (message: JsonObject): void => void forward(channel, name, transport, message);
        Object.assign(transport, { onmessage });
        await transport.start();
      },
    }),
    take(name, message) {
      void transports.get(name)?.send(message);
    },
  };
}

/** Passes a message on, and what is answered back. A request that can't be answered gets an error of JSON-RPC. */
async function forward(channel: Channel, name: string, transport: Transport, message: JsonObject): Promise<void> {
  const { id } = message;
  const isRequest = id !== undefined && message['method'] !== undefined;
  let reply: JsonObject;
  try {
    const { mcp_response: said } = await channel.request({ subtype: 'mcp_message', server_name: name, message });
    if (!isJsonObject(said)) throw new Error(`The server ${name} of the client answered with no message.`);
    reply = said;
  } catch (error) {
    reply = { jsonrpc: '2.0', error: { code: -32_603, message: errorText(error) } };
  }
  // What a notification is answered with means nothing.
  if (isRequest) await transport.send({ ...reply, id }).catch(() => {});
}
