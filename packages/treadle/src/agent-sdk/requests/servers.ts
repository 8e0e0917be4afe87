import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { configsOf } from '../agent/mcp.ts';
import { Refused } from '../lines/channel.ts';
import type { Opened } from './opened.ts';

/** Takes the servers that a client sets while the session is open. Their tools are there from the next turn on. */
export async function setServers(servers: JsonValue | undefined, opened: Opened): Promise<JsonObject> {
  if (!isJsonObject(servers)) throw new Refused('The request needs servers, an object.');
  const { configs, problems } = configsOf(servers, opened);
  const { added, removed, errors } = await opened.pool.set(configs);
  return { added: [...added], removed: [...removed], errors: { ...problems, ...errors } };
}
