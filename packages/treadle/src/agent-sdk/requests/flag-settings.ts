import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { modeOf } from '../agent/permissions.ts';
import { Refused } from '../lines/channel.ts';
import { modelOf } from '../settings/sources.ts';
import { wireMode } from '../wire/permissions.ts';
import type { Opened } from './opened.ts';

/**
 * Takes settings that a client gives while the session is open, over those that it gave before. A key that is null is taken
 * back. The model and the mode change now, all else with the next turn.
 */
export async function applyFlagSettings(given: JsonValue | undefined, opened: Opened): Promise<JsonObject> {
  if (!isJsonObject(given)) throw new Refused('The request needs settings, an object.');
  if (given['env'] !== undefined) throw new Refused('The environment can not change while the session is open.');
  return opened.flags.inTurn(() => apply(given, opened));
}

async function apply(given: JsonObject, opened: Opened): Promise<JsonObject> {
  const { flags, sdk, session, told, options, loadModel } = opened;
  const before = flags.settings;
  const merged = Object.fromEntries(
    Object.entries({ ...before, ...given }).filter((entry): entry is [string, JsonValue] => entry[1] !== null),
  );
  const { agent, settings } = await opened.agentWith(merged);
  const { model } = given;
  const wanted = typeof model === 'string' ? model : (options.model ?? modelOf(settings));
  const other = model === undefined ? null : await loadModel(wanted);
  flags.settings = merged;
  if (other) sdk.model.switchTo(other);
  if (given['permissions'] !== undefined && (namesMode(given) || namesMode(before))) {
    const mode = namesMode(given) ? modeOf(settings) : agent.permissions.mode;
    await session.updatePermissions([{ type: 'setMode', mode, destination: 'session' }]);
    told.mode = wireMode(mode);
  }
  return {};
}

const namesMode = ({ permissions }: JsonObject): boolean =>
  isJsonObject(permissions) && permissions['defaultMode'] !== undefined;
