import type { Hook, JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { hookEventOf, hooksFromSettings } from '@treadle/tools';

import type { CliIo } from '../../cli/io.ts';
import { hookTranslation, usableMatcher } from '../client/hooks.ts';

/** What hooks of settings files are made with. */
export interface SettingsHookParts {
  readonly folder: string;
  /** What the commands know as the project: `CLAUDE_PROJECT_DIR`. */
  readonly project: string;
  readonly env: CliIo['env'];
  readonly tools: readonly string[];
  readonly note: (text: string) => void;
}

/**
 * The hooks of a settings file: shell commands, which are told of calls in the names of the protocol.
 *
 * @throws TreadleError `invalid_definition` for a hook of a known event that can't be understood.
 */
export function hooksOfSettings(given: JsonObject, where: string, parts: SettingsHookParts): Hook[] {
  const { folder, project, env, note } = parts;
  const settings: Record<string, JsonValue> = {};
  for (const [name, groups] of Object.entries(given)) {
    const event = hookEventOf(name);
    if (event === undefined) {
      note(`${where}: hooks.${name} never happens here.`);
      continue;
    }
    const usable = Array.isArray(groups)
      ? (groups as readonly JsonValue[]).flatMap((group) => {
          const { matcher } = isJsonObject(group) ? group : {};
          if (typeof matcher !== 'string') return [group];
          const known = usableMatcher(event, matcher, `${where}: hooks.${name}`, parts);
          return known === null || !isJsonObject(group) ? [] : [{ ...group, matcher: known }];
        })
      : (groups ?? null);
    settings[name] = usable;
  }
  const environment = { ...env, CLAUDE_PROJECT_DIR: project };
  return hooksFromSettings(settings, { folder, source: where, environment, translate: hookTranslation(folder) });
}
