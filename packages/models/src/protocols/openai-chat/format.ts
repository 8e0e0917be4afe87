import type { ResponseFormat } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { legalToolName } from '../shared/call-ids.ts';
import { toJson } from '../shared/json-text.ts';
import { formInWords, withInstructions } from '../../rules/rules.ts';
import type { OpenAIChatQuirks } from './quirks.ts';
import { strictSchema } from '../openai/strict.ts';

const NAME_LENGTH = 64;

type JsonSchemaFormat = Extract<ResponseFormat, { readonly type: 'json_schema' }>;

const schemaFormat = ({ name, schema, description }: JsonSchemaFormat): string => {
  const strict = strictSchema(schema);
  return toJson({
    type: 'json_schema',
    json_schema: {
      name: legalToolName(name, NAME_LENGTH),
      description,
      schema: strict ?? schema,
      strict: strict !== undefined,
    },
  });
};

/** The `response_format` of a request; undefined when the server knows none. */
export function chatResponseFormat(
  format: ResponseFormat,
  known: Required<OpenAIChatQuirks>['responseFormat'],
): string | undefined {
  if (known === 'none') return undefined;
  if (format.type === 'json_schema' && known !== 'json_object') return schemaFormat(format);
  if (known !== 'json_schema_only') return '{"type":"json_object"}';
  return schemaFormat({ type: 'json_schema', name: 'json', schema: { type: 'object' } });
}

/**
 * The instructions of a request, with what its response format leaves unsaid on this server. `json_object` is refused by
 * OpenAI and others unless the word JSON is in the prompt.
 */
export function instructionsWithFormat(
  { system, responseFormat }: ModelRequest,
  known: Required<OpenAIChatQuirks>['responseFormat'],
): string {
  if (responseFormat === undefined || known === 'json_schema_only') return system;
  const isObject = responseFormat.type === 'json_object';
  if (isObject ? known !== 'none' && /json/i.test(system) : known === 'json_schema') return system;
  return withInstructions(system, formInWords(responseFormat));
}
