import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Problems } from '../checks.ts';
import {
  checkRange,
  checkUnicode,
  checkUnique,
  checkWholeNumber,
  inWords,
  isOneOf,
  isText,
  objectsAt,
  problems,
} from '../checks.ts';

const BODY_FIELDS = new Set([
  'model',
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'cachedContent',
  'labels',
]);

const GENERATION_FIELDS = new Set([
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
]);

const TOOL_FIELDS = new Set([
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
]);

/** What a part can be; a part is one of them. */
const PART_KINDS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const;

const PART_ASIDES = new Set(['thought', 'thoughtSignature', 'videoMetadata', 'mediaResolution', 'partMetadata']);

const SCHEMA_FIELDS = new Set([
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
]);

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  STRING: ['enum', 'date-time'],
  NUMBER: ['float', 'double'],
  INTEGER: ['int32', 'int64'],
};

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;

function checkKnown(found: Problems, value: JsonObject, known: ReadonlySet<string>, path: string): void {
  for (const name of Object.keys(value)) {
    if (!known.has(name)) found.add(path, `Invalid JSON payload received. Unknown name "${name}"`);
  }
}

function checkSchemaEnum(found: Problems, schema: JsonObject, path: string): void {
  const values = schema['enum'];
  if (values === undefined) return;
  if (schema['type'] !== 'STRING') found.add(`${path}.enum`, 'only allowed for STRING type');
  if (!Array.isArray(values) || values.length === 0 || values.some((value) => !isText(value) || value === ''))
    found.add(`${path}.enum`, 'must be non-empty strings');
}

function checkObjectSchema(found: Problems, schema: JsonObject, path: string): void {
  const properties = schema['properties'];
  if (properties !== undefined && !isJsonObject(properties))
    return found.add(`${path}.properties`, 'must be an object');
  for (const [name, property] of Object.entries(properties ?? {})) {
    checkGeminiSchema(found, property, `${path}.properties[${name}]`);
  }
  const required = schema['required'];
  if (required === undefined) return;
  if (!Array.isArray(required)) return found.add(`${path}.required`, 'must be an array');
  required.forEach((name: unknown, index) => {
    if (!isText(name) || !Object.hasOwn(properties ?? {}, name))
      found.add(`${path}.required[${index}]`, 'property is not defined');
  });
}

function checkGeminiSchema(found: Problems, value: unknown, path: string): void {
  if (!isJsonObject(value)) return found.add(path, 'must be an object');
  checkKnown(found, value, SCHEMA_FIELDS, path);
  const { type, format, anyOf } = value;
  if (type === undefined && anyOf === undefined) found.add(path, 'schema must specify a type');
  if (type !== undefined && !isOneOf(type, 'STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT'))
    found.add(`${path}.type`, `${inWords(type)} is no type`);
  if (format !== undefined && !(isText(type) && isOneOf(format, ...(FORMATS[type] ?? []))))
    found.add(`${path}.format`, `${inWords(format)} is not supported for ${inWords(type)} type`);
  if (anyOf !== undefined) {
    if (Array.isArray(anyOf) && anyOf.length === 0) found.add(`${path}.anyOf`, 'must not be empty');
    for (const { item, path: at } of objectsAt(found, anyOf, `${path}.anyOf`)) checkGeminiSchema(found, item, at);
  }
  checkSchemaEnum(found, value, path);
  checkObjectSchema(found, value, path);
  if (type === 'ARRAY' && value['items'] === undefined) found.add(`${path}.items`, 'missing field');
  if (value['items'] !== undefined) checkGeminiSchema(found, value['items'], `${path}.items`);
}

function checkDeclaration(found: Problems, declaration: JsonObject, path: string): void {
  checkKnown(
    found,
    declaration,
    new Set([
      'name',
      'description',
      'behavior',
      'parameters',
      'parametersJsonSchema',
      'response',
      'responseJsonSchema',
    ]),
    path,
  );
  const { name, parameters } = declaration;
  if (!isText(name) || !NAME.test(name)) found.add(`${path}.name`, `must match ${NAME.source}`);
  if (parameters === undefined) return;
  if (declaration['parametersJsonSchema'] !== undefined)
    found.add(path, 'parameters and parametersJsonSchema are mutually exclusive');
  checkGeminiSchema(found, parameters, `${path}.parameters`);
  if (!isJsonObject(parameters)) return;
  if (parameters['type'] !== 'OBJECT') found.add(`${path}.parameters.type`, 'must be OBJECT');
  const properties = parameters['properties'] ?? {};
  if (parameters['anyOf'] === undefined && isJsonObject(properties) && Object.keys(properties).length === 0)
    found.add(`${path}.parameters.properties`, 'should be non-empty for OBJECT type');
}

function checkTools(found: Problems, body: JsonObject): void {
  const names = new Set<string>();
  if (body['tools'] !== undefined) {
    for (const { item, path } of objectsAt(found, body['tools'], 'tools')) {
      checkKnown(found, item, TOOL_FIELDS, path);
      const declarations = item['functionDeclarations'];
      if (declarations === undefined) continue;
      for (const { item: declaration, path: at } of objectsAt(found, declarations, `${path}.functionDeclarations`)) {
        checkUnique(found, names, declaration['name'], `${at}.name`, 'function names');
        checkDeclaration(found, declaration, at);
      }
    }
  }
  const config = body['toolConfig'];
  if (config === undefined) return;
  const calling = isJsonObject(config) ? config['functionCallingConfig'] : undefined;
  if (!isJsonObject(calling)) return found.add('toolConfig.functionCallingConfig', 'must be an object');
  if (names.size === 0) found.add('toolConfig', 'function calling config is set without function_declarations');
  if (!isOneOf(calling['mode'], 'AUTO', 'ANY', 'NONE', 'VALIDATED'))
    found.add('toolConfig.functionCallingConfig.mode', 'must be AUTO, ANY, NONE or VALIDATED');
  const allowed = calling['allowedFunctionNames'];
  if (allowed === undefined) return;
  if (calling['mode'] !== 'ANY') found.add('toolConfig.functionCallingConfig', 'allowed names need the mode ANY');
  if (!Array.isArray(allowed) || allowed.some((name) => !isText(name) || !names.has(name)))
    found.add('toolConfig.functionCallingConfig.allowedFunctionNames', 'must name declared functions');
}

function checkGenerationConfig(found: Problems, config: unknown): void {
  if (config === undefined) return;
  const path = 'generationConfig';
  if (!isJsonObject(config)) return found.add(path, 'must be an object');
  checkKnown(found, config, GENERATION_FIELDS, path);
  if (config['temperature'] !== undefined) checkRange(found, config['temperature'], `${path}.temperature`, 0, 2);
  if (config['maxOutputTokens'] !== undefined)
    checkWholeNumber(found, config['maxOutputTokens'], `${path}.maxOutputTokens`);
  const stops = config['stopSequences'];
  if (stops !== undefined && (!Array.isArray(stops) || stops.length > 5 || stops.some((s) => !isText(s) || s === '')))
    found.add(`${path}.stopSequences`, 'must be at most 5 non-empty strings');
  if (config['responseSchema'] !== undefined) {
    if (config['responseMimeType'] !== 'application/json')
      found.add(`${path}.responseSchema`, 'needs the response mime type application/json');
    checkGeminiSchema(found, config['responseSchema'], `${path}.responseSchema`);
  }
  const thinking = config['thinkingConfig'];
  if (thinking === undefined) return;
  if (!isJsonObject(thinking)) return found.add(`${path}.thinkingConfig`, 'must be an object');
  checkKnown(
    found,
    thinking,
    new Set(['includeThoughts', 'thinkingBudget', 'thinkingLevel']),
    `${path}.thinkingConfig`,
  );
  if (thinking['thinkingBudget'] !== undefined && thinking['thinkingLevel'] !== undefined)
    found.add(`${path}.thinkingConfig`, 'You can only set only one of thinking budget and thinking level.');
}

function checkMedia(found: Problems, part: JsonObject, path: string): void {
  const { inlineData, fileData } = part;
  if (isJsonObject(inlineData)) {
    if (!isText(inlineData['mimeType']) || inlineData['mimeType'] === '')
      found.add(`${path}.inlineData`, 'needs a mimeType');
    if (!isText(inlineData['data']) || inlineData['data'] === '') found.add(`${path}.inlineData`, 'needs data');
  }
  if (isJsonObject(fileData) && (!isText(fileData['fileUri']) || fileData['fileUri'] === ''))
    found.add(`${path}.fileData`, 'needs a fileUri');
}

function checkFunctionPart(found: Problems, part: JsonObject, path: string, role: string): void {
  const { functionCall: call, functionResponse: response } = part;
  if (call !== undefined) {
    if (role !== 'model') found.add(path, 'function calls are in turns of the model');
    if (!isJsonObject(call)) return found.add(`${path}.functionCall`, 'must be an object');
    if (!isText(call['name']) || !NAME.test(call['name']))
      found.add(`${path}.functionCall.name`, `must match ${NAME.source}`);
    if (call['args'] !== undefined && !isJsonObject(call['args']))
      found.add(`${path}.functionCall.args`, 'must be an object');
  }
  if (response !== undefined) {
    if (role !== 'user') found.add(path, 'function responses are in turns of the user');
    if (!isJsonObject(response)) return found.add(`${path}.functionResponse`, 'must be an object');
    if (!isText(response['name']) || response['name'] === '')
      found.add(`${path}.functionResponse.name`, 'Name cannot be empty.');
    if (!isJsonObject(response['response'])) found.add(`${path}.functionResponse.response`, 'must be an object');
  }
}

function checkPart(found: Problems, part: JsonObject, path: string, role: string): void {
  const kinds = PART_KINDS.filter((kind) => part[kind] !== undefined);
  if (kinds.length !== 1) found.add(path, `a part is exactly one of ${PART_KINDS.join(', ')}`);
  checkKnown(found, part, new Set([...PART_KINDS, ...PART_ASIDES]), path);
  const { text, thoughtSignature } = part;
  if (thoughtSignature !== undefined && (!isText(thoughtSignature) || role !== 'model'))
    found.add(`${path}.thoughtSignature`, 'must be a string on a part of the model');
  if (text !== undefined && !isText(text)) found.add(`${path}.text`, 'must be a string');
  if (text === '' && thoughtSignature === undefined) found.add(`${path}.text`, 'must have a text parameter');
  checkMedia(found, part, path);
  checkFunctionPart(found, part, path, role);
}

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
  const contents = objectsAt(found, value, 'contents');
  if (contents.length === 0) return found.add('contents', 'contents are required');
  let before: string | undefined;
  let calls: Reference[] = [];
  const ids = new Set<string>();
  for (const { item, path } of contents) {
    const role = item['role'];
    if (role !== 'user' && role !== 'model') {
      found.add(`${path}.role`, 'Please use a valid role: user, model.');
      continue;
    }
    if (before === role) found.add(path, `roles must alternate between user and model; two are ${role}`);
    const parts = objectsAt(found, item['parts'], `${path}.parts`);
    if (parts.length === 0) found.add(`${path}.parts`, 'contents.parts must not be empty.');
    for (const { item: part, path: at } of parts) checkPart(found, part, at, role);
    const items = parts.map(({ item: part }) => part);
    checkPairs(found, calls, referencesIn(items, 'functionResponse'), path);
    calls = referencesIn(items, 'functionCall');
    if (calls.length > 0 && before === undefined)
      found.add(
        path,
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      );
    for (const { id } of calls) checkUnique(found, ids, id, path, 'function call ids');
    before = role;
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
  const found = problems();
  if (!isJsonObject(body)) return ['The body must be a JSON object.'];
  checkKnown(found, body, BODY_FIELDS, '');
  const system = body['systemInstruction'];
  if (system !== undefined) {
    const parts = isJsonObject(system) ? objectsAt(found, system['parts'], 'systemInstruction.parts') : [];
    if (parts.length === 0) found.add('systemInstruction', 'must have parts');
    for (const { item, path } of parts) checkPart(found, item, path, 'user');
  }
  checkContents(found, body['contents']);
  checkTools(found, body);
  checkGenerationConfig(found, body['generationConfig']);
  checkUnicode(found, body);
  return found.list;
}
