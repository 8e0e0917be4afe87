import { errorText, TreadleError } from '../errors.ts';
import { isJsonObject, MAX_JSON_DEPTH, parseJson, type JsonObject } from '../json.ts';
import type { ToolCallBlock } from '../messages/content.ts';

/** What a model's argument text came to. */
export type ParsedArguments = Pick<ToolCallBlock, 'arguments' | 'argumentsText' | 'problem' | 'problemMessage'>;

const NO_ARGUMENTS: JsonObject = Object.freeze({});

/**
 * Parses the arguments of a finished call. Empty text is an empty object, as models write it for tools without
 * parameters. `cut` says that the message was cut short: text that isn't a whole object was then cut off.
 */
export function parseArguments(argumentsText: string, cut: boolean): ParsedArguments {
  if (argumentsText.trim() === '') {
    return cut ? { arguments: NO_ARGUMENTS, argumentsText, problem: 'cut_off' } : { arguments: NO_ARGUMENTS };
  }
  let value: unknown;
  try {
    value = parseJson(argumentsText);
  } catch (error) {
    const problem = cut ? 'cut_off' : error instanceof TreadleError ? 'too_deep' : 'invalid_json';
    return { arguments: NO_ARGUMENTS, argumentsText, problem };
  }
  if (isJsonObject(value)) return { arguments: value };
  return { arguments: NO_ARGUMENTS, argumentsText, problem: 'not_an_object' };
}

/** Says to the model what was wrong with its arguments, so that it can send better ones. */
export function argumentsProblem(problem: ToolCallBlock['problem'], argumentsText: string): string {
  if (problem === 'cut_off') return 'Not executed: the reply was cut off before the call was complete. Send it again.';
  if (problem === 'not_an_object')
    return 'Not executed: the arguments must be one JSON object, such as {"path": "a.txt"}.';
  if (problem === 'too_deep')
    return `Not executed: the arguments are nested deeper than ${MAX_JSON_DEPTH} levels. Send flatter ones.`;
  if (problem === 'missing_field') return 'Not executed: the call lacks the name of its tool, or of its server.';
  if (problem === 'invalid_xml') return 'Not executed: the call is not valid XML. Send it again.';
  return `Not executed: the arguments are not valid JSON (${jsonError(argumentsText)}). Send one JSON object.`;
}

function jsonError(text: string): string {
  try {
    parseJson(text);
    return 'they could not be parsed';
  } catch (error) {
    return errorText(error).slice(0, 200);
  }
}
