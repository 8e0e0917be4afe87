import type { JsonObject, Model } from '@treadle/core';

import type { CliIo } from '../cli/io.ts';
import { Refused } from './channel.ts';
import type { Conversation } from './conversation.ts';
import { modelName } from './models.ts';
import type { Opened } from './opened.ts';
import { ownMode, WIRE_MODES, wireMode } from './wire/permissions.ts';

/** What requests are answered with. */
export interface RequestParts {
  readonly opened: () => Promise<Opened>;
  readonly conversation: Conversation;
  readonly loadModel: (name: string) => Promise<Model>;
  readonly io: CliIo;
}

type Handler = (request: JsonObject, parts: RequestParts) => Promise<JsonObject>;

/** Requests by their subtypes. What isn't here is unsupported. */
const HANDLERS: Readonly<Record<string, Handler>> = { interrupt, set_permission_mode: setMode, set_model: setModel };

/** @throws Refused for what is unsupported, as the protocol has it. */
export async function answerRequest(subtype: string, request: JsonObject, parts: RequestParts): Promise<JsonObject> {
  const handler = Object.hasOwn(HANDLERS, subtype) ? HANDLERS[subtype] : undefined;
  if (!handler) throw new Refused(`Unsupported control request subtype: ${subtype}`);
  return handler(request, parts);
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
  const { session } = await opened();
  await session.updatePermissions([{ type: 'setMode', mode, destination: 'session' }]);
  return { mode: wireMode(mode) };
}

async function setModel({ model }: JsonObject, { opened, loadModel, io }: RequestParts): Promise<JsonObject> {
  const { sdk, options } = await opened();
  const name = typeof model === 'string' && model !== 'default' ? model : options.model;
  sdk.model.switchTo(await loadModel(await modelName(name, io.env)));
  return {};
}
