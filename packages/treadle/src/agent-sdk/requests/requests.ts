import { sessionsOf, type JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { thinkingBudget } from '../agent/models.ts';
import type { ClientServers } from '../client/servers.ts';
import type { Conversation } from '../conversation.ts';
import { Refused } from '../lines/channel.ts';
import { PROTOCOL_VERSION } from '../protocol-version.ts';
import { ownMode, WIRE_MODES, wireMode } from '../wire/permissions.ts';
import { contextUsage } from './context-usage.ts';
import { applyFlagSettings } from './flag-settings.ts';
import { modelList } from './init.ts';
import type { Opened } from './opened.ts';
import { rewindFiles } from './rewind.ts';
import { setServers } from './servers.ts';
import { sessionCost } from './session-cost.ts';

/** What requests are answered with. */
export interface RequestParts {
  readonly opened: () => Promise<Opened>;
  readonly conversation: Conversation;
  readonly clients: ClientServers;
}

type Handler = (request: JsonObject, parts: RequestParts) => Promise<JsonObject>;

/** Requests by their subtypes, besides `initialize`. What isn't here is unsupported. */
const HANDLERS: Readonly<Record<string, Handler>> = {
  interrupt,
  set_permission_mode: setMode,
  set_model: setModel,
  set_max_thinking_tokens: setThinking,
  apply_flag_settings: async ({ settings }, { opened }) => applyFlagSettings(settings, await opened()),
  list_models: async (_, { opened }) => ({ models: modelList((await opened()).sdk) }),
  get_binary_version: async () => ({ version: PROTOCOL_VERSION }),
  get_context_usage: async (_, { opened }) => contextUsage(await opened()),
  get_session_cost: async (_, { opened }) => sessionCost(await opened()),
  mcp_status: async (_, { opened }) => ({ mcpServers: [...(await opened()).pool.states] }),
  mcp_set_servers: async ({ servers }, { opened }) => setServers(servers, await opened()),
  mcp_toggle: async ({ serverName, enabled }, { opened }) => {
    if (typeof enabled !== 'boolean') throw new Refused('The request needs enabled, true or false.');
    await (await opened()).pool.toggle(textOf(serverName, 'serverName'), enabled);
    return {};
  },
  mcp_reconnect: async ({ serverName }, { opened }) => {
    await (await opened()).pool.reconnect(textOf(serverName, 'serverName'));
    return {};
  },
  mcp_message: async ({ server_name: name, message }, { clients }) => {
    if (typeof name === 'string' && isJsonObject(message)) clients.take(name, message);
    return {};
  },
  rewind_files: async (request, { opened }) => rewindFiles(request, await opened()),
  cancel_async_message: async ({ message_uuid: uuid }, { conversation }) => ({
    cancelled: conversation.drop(textOf(uuid, 'message_uuid')).length > 0,
  }),
  rename_session: async ({ title }, { opened }) => {
    const { session, kept } = await opened();
    await sessionsOf(kept.journal).rename(session.id, textOf(title, 'title'));
    return {};
  },
  stop_task: async ({ task_id: id }, { opened }) => {
    const { session } = await opened();
    await session.tasks.stop(textOf(id, 'task_id'), 'The client has stopped it.');
    return {};
  },
};

/** @throws Refused for what is unsupported, as the protocol has it. */
export async function answerRequest(subtype: string, request: JsonObject, parts: RequestParts): Promise<JsonObject> {
  const handler = Object.hasOwn(HANDLERS, subtype) ? HANDLERS[subtype] : undefined;
  if (!handler) throw new Refused(`Unsupported control request subtype: ${subtype}`);
  return handler(request, parts);
}

function textOf(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new Refused(`The request needs ${name}, a text.`);
}

async function interrupt(request: JsonObject, { opened, conversation }: RequestParts): Promise<JsonObject> {
  const cancelled = request['cancel_queued'] === true ? conversation.drop() : null;
  const waiting = conversation.waiting();
  const { session } = await opened();
  await session.abort('Interrupted by the client.');
  return { still_queued: waiting, ...(cancelled === null ? {} : { cancelled }) };
}

async function setMode({ mode: word }: JsonObject, { opened }: RequestParts): Promise<JsonObject> {
  const mode = ownMode(word);
  if (mode === undefined)
    throw new Refused(`There is no permission mode ${JSON.stringify(word)}. It is one of ${WIRE_MODES.join(', ')}.`);
  const { session, told } = await opened();
  await session.updatePermissions([{ type: 'setMode', mode, destination: 'session' }]);
  told.mode = wireMode(mode);
  return { mode: told.mode };
}

async function setModel({ model }: JsonObject, { opened }: RequestParts): Promise<JsonObject> {
  const { sdk, options, loadModel } = await opened();
  sdk.model.switchTo(await loadModel(typeof model === 'string' && model !== 'default' ? model : (options.model ?? '')));
  return {};
}

async function setThinking({ max_thinking_tokens: tokens }: JsonObject, { opened }: RequestParts): Promise<JsonObject> {
  const { sdk } = await opened();
  sdk.model.think(tokens === null || tokens === undefined ? undefined : thinkingBudget(Number(tokens)));
  return {};
}
