import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Check } from '../checks.ts';
import * as is from '../checks.ts';
import { inWords, isText, problemsOf, turnsAt, type Problems } from '../requests.ts';

const BODY_FIELDS = [
  'model',
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'cachedContent',
  'labels',
];

const GENERATION_FIELDS = [
  'temperature',
  'topP',
  'topK',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseModalities',
  'responseLogprobs',
  'logprobs',
  'speechConfig',
  'imageConfig',
  'mediaResolution',
  'thinkingConfig',
];

const TOOL_FIELDS = [
  'functionDeclarations',
  'googleSearch',
  'googleSearchRetrieval',
  'codeExecution',
  'urlContext',
  'computerUse',
  'fileSearch',
  'googleMaps',
  'retrieval',
  'enterpriseWebSearch',
];

const SCHEMA_FIELDS = [
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'default',
  'enum',
  'items',
  'minItems',
  'maxItems',
  'properties',
  'propertyOrdering',
  'required',
  'minProperties',
  'maxProperties',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'example',
  'anyOf',
];

const TYPES = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT'];
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  STRING: ['enum', 'date-time'],
  NUMBER: ['float', 'double'],
  INTEGER: ['int32', 'int64'],
};

const NAME = is.matching(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/);
const filled = (message: string): Check => is.textThat((text) => text !== '', message);

/** An object with these fields and no others. */
const closed =
  (fields: readonly string[]) =>
  (found: Problems, value: JsonObject, path: string): void => {
    for (const name of Object.keys(value)) {
      if (!fields.includes(name)) found.add(path, `Invalid JSON payload received. Unknown name "${name}"`);
    }
  };

function checkSchemaEnum(found: Problems, schema: JsonObject, path: string): void {
  const values = schema['enum'];
  if (values === undefined) return;
  if (schema['type'] !== 'STRING') found.add(`${path}.enum`, 'only allowed for STRING type');
  if (!Array.isArray(values) || values.length === 0 || values.some((value) => !isText(value) || value === ''))
    found.add(`${path}.enum`, 'must be non-empty strings');
}

function checkObjectSchema(found: Problems, { properties = {}, required = [] }: JsonObject, path: string): void {
  if (!isJsonObject(properties)) return found.add(`${path}.properties`, 'must be an object');
  for (const [name, property] of Object.entries(properties)) SCHEMA(found, property, `${path}.properties[${name}]`);
  if (!Array.isArray(required)) return found.add(`${path}.required`, 'must be an array');
  required.forEach((name: unknown, index) => {
    if (!isText(name) || !Object.hasOwn(properties, name))
      found.add(`${path}.required[${index}]`, 'property is not defined');
  });
}

function checkSchema(found: Problems, schema: JsonObject, path: string): void {
  const { type, format, anyOf, items } = schema;
  if (type === undefined && anyOf === undefined) found.add(path, 'schema must specify a type');
  is.optional(is.oneOf(TYPES, `${inWords(type)} is no type`))(found, type, `${path}.type`);
  const formats = (isText(type) ? FORMATS[type] : undefined) ?? [];
  const unsupported = `${inWords(format)} is not supported for ${inWords(type)} type`;
  is.optional(is.oneOf(formats, unsupported))(found, format, `${path}.format`);
  is.optional(is.listOf(SCHEMA, 'must not be empty'))(found, anyOf, `${path}.anyOf`);
  checkSchemaEnum(found, schema, path);
  checkObjectSchema(found, schema, path);
  if (type === 'ARRAY' && items === undefined) found.add(`${path}.items`, 'missing field');
  is.optional(SCHEMA)(found, items, `${path}.items`);
}

const SCHEMA: Check = (found, value, path) => is.all(closed(SCHEMA_FIELDS), checkSchema)(found, value, path);

const DECLARATION_FIELDS = [
  'name',
  'description',
  'behavior',
  'parameters',
  'parametersJsonSchema',
  'response',
  'responseJsonSchema',
];

function checkParameters(found: Problems, { parameters, parametersJsonSchema }: JsonObject, path: string): void {
  if (parameters === undefined) return;
  if (parametersJsonSchema !== undefined) found.add(path, 'parameters and parametersJsonSchema are mutually exclusive');
  if (!isJsonObject(parameters)) return;
  const { type, anyOf, properties = {} } = parameters;
  if (type !== 'OBJECT') found.add(`${path}.parameters.type`, 'must be OBJECT');
  if (anyOf === undefined && isJsonObject(properties) && Object.keys(properties).length === 0)
    found.add(`${path}.parameters.properties`, 'should be non-empty for is.OBJECT type');
}

function checkTools(found: Problems, { tools, toolConfig }: JsonObject): void {
  const names = new Set<string>();
  const declaration = is.all(
    closed(DECLARATION_FIELDS),
    is.record({ name: is.unique(names, 'function names') }),
    is.record({ name: NAME, parameters: is.optional(SCHEMA) }),
    checkParameters,
  );
  const tool = is.all(closed(TOOL_FIELDS), is.record({ functionDeclarations: is.optional(is.listOf(declaration)) }));
  is.optional(is.listOf(tool))(found, tools, 'tools');
  if (toolConfig === undefined) return;
  if (names.size === 0) found.add('toolConfig', 'function calling config is set without function_declarations');
  const calling: Check = (problems, config, path) => {
    if (isJsonObject(config) && config['allowedFunctionNames'] !== undefined && config['mode'] !== 'ANY')
      problems.add(path, 'allowed names need the mode ANY');
  };
  const functionCallingConfig = is.all(
    is.record({
      mode: is.oneOf(['AUTO', 'ANY', 'NONE', 'VALIDATED'], 'must be AUTO, ANY, NONE or VALIDATED'),
      allowedFunctionNames: is.optional(is.texts((name) => names.has(name), 'must name declared functions')),
    }),
    calling,
  );
  is.record({ functionCallingConfig })(found, toolConfig, 'toolConfig');
}

const GENERATION = is.all(
  closed(GENERATION_FIELDS),
  is.record({
    temperature: is.optional(is.between(0, 2)),
    maxOutputTokens: is.optional(is.WHOLE_NUMBER),
    stopSequences: is.optional(is.texts((text) => text !== '', 'must be at most 5 non-empty strings', 5)),
    responseSchema: is.optional(SCHEMA),
    thinkingConfig: is.optional(
      is.all(closed(['includeThoughts', 'thinkingBudget', 'thinkingLevel']), (found, thinking, path) => {
        if (thinking['thinkingBudget'] !== undefined && thinking['thinkingLevel'] !== undefined)
          found.add(path, 'You can only set only one of thinking budget and thinking level.');
      }),
    ),
  }),
  (found, { responseSchema, responseMimeType }, path) => {
    if (responseSchema !== undefined && responseMimeType !== 'application/json')
      found.add(`${path}.responseSchema`, 'needs the response mime type application/json');
  },
);

/** What a part can be; a part is one of them. */
const PARTS: Readonly<Record<string, Check>> = {
  text: is.STRING,
  inlineData: is.record({ mimeType: filled('needs a mimeType'), data: filled('needs data') }),
  fileData: is.record({ fileUri: filled('needs a fileUri') }),
  functionCall: is.record({ name: NAME, args: is.optional(is.OBJECT) }),
  functionResponse: is.record({ name: filled('Name cannot be empty.'), response: is.OBJECT }),
  executableCode: is.ANYTHING,
  codeExecutionResult: is.ANYTHING,
  toolCall: is.ANYTHING,
  toolResponse: is.ANYTHING,
};
const PART_KINDS = Object.keys(PARTS);
const PART_ASIDES = ['thought', 'thoughtSignature', 'videoMetadata', 'mediaResolution', 'partMetadata'];

const partOf = (role: string): Check =>
  is.all(
    closed([...PART_KINDS, ...PART_ASIDES]),
    is.record(Object.fromEntries(Object.entries(PARTS).map(([kind, check]) => [kind, is.optional(check)]))),
    (found, part, path) => {
      if (PART_KINDS.filter((kind) => part[kind] !== undefined).length !== 1)
        found.add(path, `a part is exactly one of ${PART_KINDS.join(', ')}`);
      const { text, thoughtSignature: signature, functionCall, functionResponse } = part;
      if (signature !== undefined && (!isText(signature) || role !== 'model'))
        found.add(`${path}.thoughtSignature`, 'must be a string on a part of the model');
      if (text === '' && signature === undefined) found.add(`${path}.text`, 'must have a text parameter');
      if (functionCall !== undefined && role !== 'model') found.add(path, 'function calls are in turns of the model');
      if (functionResponse !== undefined && role !== 'user')
        found.add(path, 'function responses are in turns of the user');
    },
  );

interface Reference {
  readonly name: unknown;
  readonly id: unknown;
}

const referencesIn = (parts: readonly JsonObject[], kind: 'functionCall' | 'functionResponse'): Reference[] =>
  parts.flatMap((part) => {
    const value = part[kind];
    return isJsonObject(value) ? [{ name: value['name'], id: value['id'] }] : [];
  });

/** Each call has its response in the next turn: of the same id where there is one, else of the same name. */
function checkPairs(found: Problems, calls: readonly Reference[], responses: readonly Reference[], path: string): void {
  if (responses.length !== calls.length) {
    found.add(
      path,
      'Please ensure that the number of function response parts is equal to the number of function call parts of the ' +
        `function call turn: ${responses.length} and ${calls.length}`,
    );
    return;
  }
  const left = [...responses];
  for (const call of calls) {
    const at = left.findIndex(({ name, id }) => name === call.name && id === call.id);
    if (at === -1) found.add(path, `the call ${inWords(call.id ?? call.name)} has no response of its name and id`);
    else left.splice(at, 1);
  }
}

function checkContents(found: Problems, value: unknown): void {
  const contents = turnsAt(found, value, {
    path: 'contents',
    roles: ['user', 'model'],
    none: 'contents are required',
    role: 'Please use a valid role: user, model.',
  });
  let calls: Reference[] = [];
  const ids = is.unique(new Set(), 'function call ids');
  for (const [index, { item, path, role }] of contents.entries()) {
    is.listOf(partOf(role), 'contents.parts must not be empty.')(found, item['parts'], `${path}.parts`);
    const parts = Array.isArray(item['parts']) ? item['parts'].filter(isJsonObject) : [];
    checkPairs(found, calls, referencesIn(parts, 'functionResponse'), path);
    calls = referencesIn(parts, 'functionCall');
    if (calls.length > 0 && index === 0)
      found.add(
        path,
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      );
    for (const { id } of calls) ids(found, id, path);
  }
  if (calls.length > 0) found.add('contents', 'the last turn has function calls without responses');
}

/**
 * What Google's `generateContent` would refuse in this request body; an empty list for a valid one. Stricter than the
 * service in two points: roles alternate, and ids of calls are unique in the whole conversation.
 *
 * @example
 * ```ts
 * import { validateGeminiRequest } from '@treadle/testing';
 *
 * console.log(validateGeminiRequest({ contents: [] })); // [ 'contents: contents are required' ]
 * ```
 */
export function validateGeminiRequest(body: unknown): string[] {
  return problemsOf(body, (found, request) => {
    closed(BODY_FIELDS)(found, request, '');
    const instructions = is.record({ parts: is.listOf(partOf('user'), 'systemInstruction must have parts') });
    is.optional(instructions)(found, request['systemInstruction'], 'systemInstruction');
    checkContents(found, request['contents']);
    checkTools(found, request);
    is.optional(GENERATION)(found, request['generationConfig'], 'generationConfig');
  });
}
