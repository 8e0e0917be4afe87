import { TreadleError, type ResponseFormat } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { formInWords, type ModelFamily } from '../../rules/rules.ts';
import { anthropicSchema } from './schema.ts';
import { toJson } from '../shared/json-text.ts';

/** How a reply in JSON is asked for: by `output_config`, in the instructions, or by a tool whose arguments are the reply. */
export type AnthropicFormat =
  | { readonly by: 'output_config'; readonly json: string }
  | { readonly by: 'instructions'; readonly text: string }
  | { readonly by: 'tool'; readonly name: string; readonly json: string };

const freeName = (request: ModelRequest): string => {
  const taken = new Set([...request.tools, ...(request.providerTools ?? [])].map(({ name }) => name));
  let name = 'json';
  for (let number = 2; taken.has(name); number++) name = `json_${number}`;
  return name;
};

const toolFormat = (request: ModelRequest, format: ResponseFormat): AnthropicFormat => {
  const schema = format.type === 'json_schema' ? format.schema : { type: 'object' };
  if (schema['type'] !== 'object') {
    throw new TreadleError(
      'invalid_definition',
      'The schema of a reply must be of type "object" here: the model gives the reply as arguments of a tool. Put the value into a property of an object.',
    );
  }
  const about = format.type === 'json_schema' && format.description !== undefined ? ` ${format.description}` : '';
  const description = `Gives the reply. Call it once, with the whole reply, in place of writing one.${about}`;
  const name = freeName(request);
  return { by: 'tool', name, json: toJson({ name, description, input_schema: schema }) };
};

/** The `format` of `output_config` for this model; undefined where it doesn't know it, or can't guarantee it. */
export function nativeFormat(format: ResponseFormat, { keepsSchemas }: ModelFamily): string | undefined {
  if (format.type !== 'json_schema' || keepsSchemas !== true) return undefined;
  const schema = anthropicSchema(format.schema);
  return schema === undefined ? undefined : toJson({ type: 'json_schema', schema });
}

/**
 * The form of the reply to a request; undefined when it may have any. What isn't native is a tool, or stands in the
 * instructions of a model that can't be forced to call one.
 *
 * @throws TreadleError `invalid_definition` for a schema of something other than an object, where it has to be a tool.
 */
export function anthropicFormat(
  request: ModelRequest,
  { forcedTool }: ModelFamily,
  native: (format: ResponseFormat) => string | undefined,
): AnthropicFormat | undefined {
  const format = request.responseFormat;
  if (format === undefined) return undefined;
  const json = native(format);
  if (json !== undefined) return { by: 'output_config', json };
  return forcedTool === 'never' ? { by: 'instructions', text: formInWords(format) } : toolFormat(request, format);
}
