import type { JsonObject } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { formInWords, withInstructions } from '../../rules/rules.ts';
import type { BedrockQuirks } from './quirks.ts';
import { legalToolName } from '../shared/call-ids.ts';
import { toJson } from '../shared/json-text.ts';

const NAME_LENGTH = 64;

type Way = Required<BedrockQuirks>['responseFormat'];

/** The instructions of a request, with the form of the reply where the wire isn't told of it. */
export function bedrockInstructions({ system, responseFormat }: ModelRequest, way: Way): string {
  if (responseFormat === undefined || (way === 'native' && responseFormat.type === 'json_schema')) return system;
  return withInstructions(system, formInWords(responseFormat));
}

/** `outputConfig` for a request that wants a schema kept; undefined where the instructions say it. */
export function bedrockOutputConfig({ responseFormat }: ModelRequest, way: Way): JsonObject | undefined {
  if (way !== 'native' || responseFormat?.type !== 'json_schema') return undefined;
  const { name, schema, description } = responseFormat;
  const jsonSchema = {
    name: legalToolName(name, NAME_LENGTH),
    description,
    // A text: the wire doesn't look into it.
    schema: toJson(schema),
  };
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } };
}
