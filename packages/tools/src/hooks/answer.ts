import { isJsonObject, parseJson } from '@treadle/core/json';
import type { HookEvent, HookResult, JsonObject, ToolResultContent } from '@treadle/core';

/** Events at which plain text on the standard output is something for the model to know. */
const TELLS_THE_MODEL: ReadonlySet<HookEvent> = new Set(['user_prompt_submit', 'session_start']);

/**
 * What a command that exited with 0 has said on its standard output, as the Claude Agent SDK has it.
 *
 * @throws Error when it can't be understood: the hook has then failed.
 */
export function answerOf(
  event: HookEvent,
  stdout: string,
  translate: (said: JsonObject) => JsonObject = (said) => said,
): HookResult | undefined {
  const text = stdout.trim();
  if (text === '') return undefined;
  if (!text.startsWith('{')) {
    if (TELLS_THE_MODEL.has(event)) return { context: text };
    throw new Error(`it printed something that is not JSON: ${excerpt(text)}`);
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new Error(`it printed JSON that doesn't parse: ${excerpt(text)}`);
  }
  if (!isJsonObject(value)) throw new Error(`it printed something that is no JSON object: ${excerpt(text)}`);
  return hookAnswer(event, translate(value));
}

const excerpt = (text: string): string => JSON.stringify(text.slice(0, 200));

/**
 * What the JSON output of a hook of the Claude Agent SDK means here; undefined for one that nobody waits for.
 *
 * @throws Error when it can't be understood: the hook has then failed.
 */
export function hookAnswer(event: HookEvent, said: JsonObject): HookResult | undefined {
  // Nobody waits for what it does, so there is nothing to read.
  if (said['async'] === true) return undefined;
  const specific = isJsonObject(said['hookSpecificOutput']) ? said['hookSpecificOutput'] : {};
  const reason = textIn(specific, 'permissionDecisionReason') ?? textIn(said, 'reason');
  const context = textIn(specific, 'additionalContext');
  const systemMessage = textIn(said, 'systemMessage');
  const input = specific['updatedInput'];
  const output = specific['updatedToolOutput'];
  return {
    ...decisionOf(event, said, specific, reason),
    ...(context === undefined ? {} : { context }),
    ...(systemMessage === undefined ? {} : { systemMessage }),
    ...(input === undefined ? {} : { input: objectOf(input, 'updatedInput') }),
    ...(output === undefined ? {} : { output: output as unknown as string | readonly ToolResultContent[] }),
    ...(said['continue'] === false ? { endRun: textIn(said, 'stopReason') ?? 'A hook ended the run.' } : {}),
  };
}

const PERMISSIONS: ReadonlyMap<unknown, HookResult['decision']> = new Map([
  ['allow', 'allow'],
  ['deny', 'deny'],
  ['ask', 'ask'],
  // Somebody else is to decide: as if nothing had been said.
  ['defer', 'proceed'],
]);

function decisionOf(event: HookEvent, said: JsonObject, specific: JsonObject, reason: string | undefined): HookResult {
  const because = reason === undefined ? {} : { reason };
  const permission = specific['permissionDecision'];
  if (permission !== undefined) {
    const decision = PERMISSIONS.get(permission);
    if (decision === undefined) throw new Error(`it decided ${JSON.stringify(permission)}, which is no decision`);
    return { decision, ...because };
  }
  const { decision } = said;
  const asked = specific['decision'];
  if (event === 'permission_request' && asked !== undefined) return requestDecision(asked);
  if (decision === undefined || decision === 'approve') return because;
  if (decision !== 'block') throw new Error(`it decided ${JSON.stringify(decision)}, which is no decision`);
  // What has run can't be blocked; the model is told why it should not have.
  if (event === 'after_tool' || event === 'tool_failed') return { context: reason ?? 'A hook objects to this call.' };
  return { decision: 'deny', ...because };
}

/** The answer to a question of permission, as `hookSpecificOutput.decision` has it. */
function requestDecision(asked: unknown): HookResult {
  const { behavior, updatedInput, interrupt, ...more } = isJsonObject(asked) ? asked : {};
  const message = textIn(more, 'message');
  const because = message === undefined ? {} : { reason: message };
  if (behavior === 'allow')
    return {
      decision: 'allow',
      ...(updatedInput === undefined ? {} : { input: objectOf(updatedInput, 'updatedInput') }),
    };
  if (behavior !== 'deny') throw new Error(`it decided ${JSON.stringify(asked)}, which is no decision`);
  return {
    decision: 'deny',
    ...because,
    ...(interrupt === true ? { endRun: message ?? 'A hook ended the run.' } : {}),
  };
}

function textIn(object: JsonObject, name: string): string | undefined {
  const value = object[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw new Error(`${name} must be a text, and it is ${JSON.stringify(value).slice(0, 200)}`);
}

function objectOf(value: unknown, name: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new Error(`${name} must be an object, and it is ${JSON.stringify(value).slice(0, 200)}`);
}
