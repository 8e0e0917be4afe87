// A host as the conformance suite wants one: `conformance-process.ts {url}` connects, and calls what there is.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSession, defineAgent } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { JsonObject, JsonValue } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

import { browserLogin, fileCredentials, mcpServers } from '../index.ts';

interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments?: JsonObject }[];
}

const url = process.argv[2] ?? '';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Context;

/** Arguments that fit a schema of plain fields. */
function sample({ properties, required }: JsonObject): JsonObject {
  const fields = isJsonObject(properties) ? properties : {};
  const wanted = Array.isArray(required) ? (required as string[]) : [];
  return Object.fromEntries(wanted.map((name) => [name, sampleValue(fields[name])]));
}

function sampleValue(schema: JsonValue | undefined): JsonValue {
  const { type, enum: choices } = isJsonObject(schema) ? schema : {};
  if (Array.isArray(choices)) return (choices as JsonValue[])[0] ?? null;
  if (type === 'number' || type === 'integer') return 5;
  if (type === 'boolean') return true;
  return type === 'object' ? {} : type === 'array' ? [] : 'sample';
}

const { client_id: clientId, client_secret: clientSecret } = context;
const store = fileCredentials(await mkdtemp(join(tmpdir(), 'treadle-conformance-')));
// The suite's authorization server asks nobody, so this is all that a browser would do.
const open = (page: string): void => void fetch(page).catch(() => {});
await using login = await browserLogin(
  url,
  store,
  { open, timeoutMs: 100_000 },
  {
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
  },
);
await using servers = await mcpServers(
  { it: { type: 'http', url, startupTimeoutMs: 100_000 } },
  { roots: [tmpdir()], auth: () => login, sampling: { model: scriptedModel(Array(20).fill('Sampled.')) } },
);
const [status] = servers.status;
if (status?.state !== 'ready') {
  process.stderr.write(`${status?.problem}\n`);
  process.exitCode = 1;
} else {
  const wanted = context.toolCalls?.map(({ name, arguments: args = {} }) => ({
    name: `mcp__it__${name}`,
    arguments: args,
  }));
  const own = servers.tools.filter(({ name }) => !/__(list|read)_resources?$/.test(name));
  const calls = wanted ?? own.map(({ name, inputSchema }) => ({ name, arguments: sample(inputSchema) }));
  const turns = [...calls.map((call) => ({ toolCalls: [call] })), 'Done.'];
  const permissions = { settings: [{ source: 'agent' as const, allow: ['mcp__it__*'] }] };
  const agent = defineAgent({ model: scriptedModel(turns), tools: servers.tools, permissions });
  const session = await createSession(agent);
  session.subscribe((event) => {
    if (event.type === 'tool_ended' && event.isError) {
      process.stderr.write(`${event.toolName} ${JSON.stringify(event.content)}\n`);
    }
  });
  let result = await session.prompt('Call everything.').result;
  for (let asked = 0; asked < 20 && result.status === 'paused'; asked += 1) {
    const [question] = session.pending;
    result = await session.approve(question?.approvalId ?? '').result;
  }
}
