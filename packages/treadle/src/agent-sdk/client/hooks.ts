import {
  defineHook,
  type Hook,
  type HookEvent,
  type HookInput,
  type HookResult,
  type JsonObject,
  type JsonValue,
} from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { toolMatcherProblem } from '@treadle/core/names';
import { hookAnswer, hookEventOf, hookPayload, type HookTranslation } from '@treadle/tools';

import { UsageError } from '../../cli/usage-error.ts';
import type { Channel } from '../lines/channel.ts';
import { ownInput, wireInput, wireName } from '../wire/tools.ts';

/** What hooks of the client are told about. */
export interface HookPlace {
  readonly channel: Channel;
  readonly folder: string;
  /** Where the conversation can be read. */
  readonly transcriptPath: () => string;
  /** Names of the tools that matchers may be about. */
  readonly tools: readonly string[];
  readonly note: (text: string) => void;
}

const ABOUT_TOOLS: ReadonlySet<HookEvent> = new Set(['before_tool', 'after_tool', 'tool_failed', 'permission_request']);

/**
 * Hooks that the client answers.
 *
 * @param given by event, a list of matchers with the ids of their callbacks
 * @throws UsageError for what has another shape.
 */
export function clientHooks(given: JsonObject, place: HookPlace): Hook[] {
  return Object.entries(given).flatMap(([name, matchers]) => {
    const event = hookEventOf(name);
    if (event === undefined) {
      place.note(`hooks: ${name} never happens here.`);
      return [];
    }
    if (!Array.isArray(matchers)) throw new UsageError(`hooks.${name} must be a list.`);
    return (matchers as readonly JsonValue[]).flatMap((matcher) => hooksOf(name, event, matcher, place));
  });
}

function hooksOf(name: string, event: HookEvent, given: JsonValue, place: HookPlace): Hook[] {
  const { matcher, hookCallbackIds: ids, timeout } = isJsonObject(given) ? given : {};
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string'))
    throw new UsageError(`hooks.${name} needs a list hookCallbackIds.`);
  const pattern = usableMatcher(event, typeof matcher === 'string' ? matcher : undefined, `hooks.${name}`, place);
  if (pattern === null) return [];
  return ids.map((id) =>
    defineHook(event, (input, context) => ask(place, id, input, context), {
      name: `${name} hook ${id}`,
      matcher: pattern,
      ...(typeof timeout === 'number' && timeout > 0 ? { timeoutMs: timeout * 1000 } : {}),
    }),
  );
}

/**
 * What of a matcher can match anything here: of a list of names those of tools that there are. Null when nothing can, and
 * that is said.
 *
 * @throws UsageError for one that can't be read.
 */
export function usableMatcher(
  event: HookEvent,
  matcher: string | undefined,
  where: string,
  { tools, note }: Pick<HookPlace, 'tools' | 'note'>,
): string | null {
  if (matcher === undefined || matcher === '' || matcher === '*') return '*';
  try {
    new RegExp(`^(?:${matcher})$`, 'u').test('');
  } catch {
    throw new UsageError(`${where}: the matcher ${JSON.stringify(matcher)} is no regular expression.`);
  }
  if (!ABOUT_TOOLS.has(event)) return matcher;
  const names = /^[\w|-]+$/.test(matcher) ? matcher.split('|').filter((name) => name !== '') : [matcher];
  const usable = names.filter((name) => {
    const problem = toolMatcherProblem(name, tools);
    if (problem !== null) note(`${where}: ${problem}`);
    return problem === null;
  });
  return usable.length === 0 ? null : usable.join('|');
}

/** Hooks know tools by the names of the protocol, and their input by its fields. */
export const hookTranslation = (folder: string): HookTranslation => ({
  payload(told, input) {
    if (!('toolName' in input)) return told;
    const { tool_input: given } = told;
    return {
      ...told,
      tool_name: wireName(input.toolName),
      ...(isJsonObject(given) ? { tool_input: wireInput(input.toolName, given, folder) } : {}),
    };
  },
  answer(said, input) {
    const { hookSpecificOutput: specific } = said;
    if (!('toolName' in input) || !isJsonObject(specific)) return said;
    return { ...said, hookSpecificOutput: withOwnInput(specific, input.toolName) };
  },
});

/** What a hook said of a call, with the input that it changed as the tool takes it. */
function withOwnInput(specific: JsonObject, toolName: string): JsonObject {
  const { updatedInput, decision } = specific;
  return {
    ...specific,
    ...(isJsonObject(updatedInput) ? { updatedInput: ownInput(toolName, updatedInput) } : {}),
    ...(isJsonObject(decision) ? { decision: withOwnInput(decision, toolName) } : {}),
  };
}

async function ask(
  { channel, folder, transcriptPath }: HookPlace,
  id: string,
  input: HookInput,
  { signal, permissionMode }: { readonly signal: AbortSignal; readonly permissionMode: string },
): Promise<HookResult | undefined> {
  // A call that failed has a moment of its own.
  if (input.event === 'after_tool' && input.isError) return undefined;
  const path = transcriptPath();
  const { payload, answer } = hookTranslation(folder);
  const told = hookPayload(input, { folder, transcriptPath: path, agentTranscriptPath: path, permissionMode });
  const request = {
    subtype: 'hook_callback',
    callback_id: id,
    input: payload(told, input),
    ...('callId' in input ? { tool_use_id: input.callId } : {}),
  };
  return hookAnswer(input.event, answer(await channel.request(request, signal), input));
}
