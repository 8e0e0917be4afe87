import { TreadleError, type Hook, type JsonObject, type JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { didYouMean } from '@treadle/core/names';
import { commandHook, type CommandHookOptions } from './command-hook.ts';
import { eventNames, hookEventOf } from './names.ts';

/** What hooks from settings share. */
export type HookSettings = Pick<
  CommandHookOptions,
  'folder' | 'environment' | 'transcriptPath' | 'translate' | 'clock'
> & {
  /** Where the settings come from, for messages. */
  readonly source: string;
};

/**
 * The hooks of a settings file: by event, a list of matchers, each with its commands. Events may have the names of the
 * Claude Agent SDK or ours; `timeout` is in seconds.
 *
 * @throws TreadleError `invalid_definition` when something in it can't be understood or isn't known, with its path.
 *
 * @example
 * ```ts
 * import { hooksFromSettings } from '@treadle/tools';
 *
 * const settings = {
 *   PreToolUse: [{ matcher: 'bash', hooks: [{ type: 'command', command: './check.sh', timeout: 10 }] }],
 * };
 * const hooks = hooksFromSettings(settings, { folder: '.', source: 'settings.json' });
 * console.log(hooks[0]?.event, hooks[0]?.timeoutMs); // before_tool 10000
 * ```
 */
export function hooksFromSettings(settings: JsonValue, shared: HookSettings): Hook[] {
  const fail = (path: string, problem: string): never => {
    throw new TreadleError('invalid_definition', `${shared.source}: ${path} ${problem}`);
  };
  if (!isJsonObject(settings)) return fail('hooks', 'must be an object with a list for each event.');
  return Object.entries(settings).flatMap(([name, groups]) => {
    const event = hookEventOf(name) ?? fail(`hooks.${name}`, `is no event.${didYouMean(name, eventNames)}`);
    if (!Array.isArray(groups)) return fail(`hooks.${name}`, 'must be a list.');
    return groups.flatMap((group: JsonValue, index): Hook[] => {
      const path = `hooks.${name}[${index}]`;
      if (!isJsonObject(group)) return fail(path, 'must be an object.');
      refuseUnknown(group, ['matcher', 'hooks'], path, fail);
      const { matcher, hooks } = group;
      if (matcher !== undefined && typeof matcher !== 'string') return fail(`${path}.matcher`, 'must be a text.');
      if (!Array.isArray(hooks)) return fail(`${path}.hooks`, 'must be a list.');
      return hooks.map((hook: JsonValue, at) => {
        const place = `${path}.hooks[${at}]`;
        if (!isJsonObject(hook) || hook['type'] !== 'command') return fail(place, 'must be { "type": "command", … }.');
        refuseUnknown(hook, ['type', 'command', 'timeout', 'async'], place, fail);
        const { command, timeout, async: background } = hook;
        if (typeof command !== 'string' || command.trim() === '') return fail(`${place}.command`, 'must be a text.');
        if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0)) {
          return fail(`${place}.timeout`, 'must be a number of seconds greater than 0.');
        }
        const { source, ...options } = shared;
        const made = commandHook(event, {
          ...options,
          command,
          ...(matcher === undefined ? {} : { matcher }),
          ...(timeout === undefined ? {} : { timeoutMs: timeout * 1000 }),
          ...(background === true ? { background } : {}),
        });
        return Object.freeze({ ...made, name: `${made.name} of ${source}` });
      });
    });
  });
}

function refuseUnknown(
  object: JsonObject,
  known: readonly string[],
  path: string,
  fail: (path: string, problem: string) => never,
): void {
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  if (unknown !== undefined) fail(`${path}.${unknown}`, `is no setting of a hook.${didYouMean(unknown, known)}`);
}
