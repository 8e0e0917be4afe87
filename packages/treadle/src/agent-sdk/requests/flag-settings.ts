import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { Refused } from '../lines/channel.ts';
import { wireMode } from '../wire/permissions.ts';
import type { Opened } from './opened.ts';

/**
 * Takes settings that a client gives while the session is open, over those that it gave before. A key that is null is taken
 * back. The model and the mode change now, all else with the next turn.
 */
export async function applyFlagSettings(given: JsonValue | undefined, opened: Opened): Promise<JsonObject> {
  if (!isJsonObject(given)) throw new Refused('The request needs settings, an object.');
  if (given['env'] !== undefined) throw new Refused('The environment can not change while the session is open.');
  const { flags, sdk, session, told, loadModel } = opened;
  const merged = Object.fromEntries(
    Object.entries({ ...flags.settings, ...given }).filter((entry): entry is [string, JsonValue] => entry[1] !== null),
  );
  const { model } = given;
  const wanted = typeof model === 'string' ? await loadModel(model) : null;
  const { mode } = (await opened.take(merged)).permissions;
  if (wanted) sdk.model.switchTo(wanted);
  if (isJsonObject(given['permissions']) && given['permissions']['defaultMode'] !== undefined) {
    await session.updatePermissions([{ type: 'setMode', mode, destination: 'session' }]);
    told.mode = wireMode(mode);
  }
  return {};
}
