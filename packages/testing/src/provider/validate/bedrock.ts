import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Problems } from '../checks.ts';
import {
  checkName,
  checkRange,
  checkSchema,
  checkText,
  checkUnicode,
  checkUnique,
  checkWholeNumber,
  inWords,
  isOneOf,
  isText,
  objectsAt,
  problems,
} from '../checks.ts';

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  image: ['png', 'jpeg', 'gif', 'webp'],
  document: ['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'],
  video: ['mkv', 'mov', 'mp4', 'webm', 'flv', 'mpeg', 'mpg', 'wmv', 'three_gp'],
};
const CALL_ID = /^[a-zA-Z0-9_-]{1,64}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** What one request may have only once. */
interface Seen {
  readonly ids: Set<string>;
  readonly documents: Set<string>;
  /** Calls of the message before that wait for their result. */
  open: Set<string>;
  /** There are calls or results, so there must be tools. */
  tools: boolean;
}

function checkBytes(found: Problems, value: unknown, path: string): void {
  if (!isText(value) || value === '' || !BASE64.test(value)) found.add(path, 'must be base64 of some bytes');
}

function checkMedia(found: Problems, kind: string, value: unknown, path: string, seen: Seen): void {
  if (!isJsonObject(value)) return found.add(path, 'must be an object');
  const format = value['format'];
  if (!isText(format) || !FORMATS[kind]?.includes(format))
    found.add(`${path}.format`, `must be one of ${FORMATS[kind]?.join(', ') ?? 'nothing'}`);
  const source = value['source'];
  const place = isJsonObject(source) ? source['s3Location'] : undefined;
  if (isJsonObject(place)) {
    if (!isText(place['uri']) || !place['uri'].startsWith('s3://')) found.add(`${path}.source`, 'must be in S3');
  } else checkBytes(found, isJsonObject(source) ? source['bytes'] : undefined, `${path}.source.bytes`);
  if (kind !== 'document') return;
  const name = value['name'];
  if (!isText(name) || !/^[a-zA-Z0-9\s()[\]-]{1,200}$/.test(name) || /\s\s/.test(name))
    found.add(`${path}.name`, 'has only letters, digits, single spaces, hyphens, parentheses and square brackets');
  checkUnique(found, seen.documents, name, `${path}.name`, 'document names');
}

/** The one member of a union, or undefined with a problem. */
function memberOf(found: Problems, block: JsonObject, path: string, allowed: readonly string[]): string | undefined {
  const keys = Object.keys(block);
  const [kind] = keys;
  if (keys.length === 1 && kind !== undefined && allowed.includes(kind)) return kind;
  found.add(path, `must have exactly one of ${allowed.join(', ')}; it has ${inWords(keys)}`);
  return undefined;
}

function checkToolResult(found: Problems, result: unknown, path: string, seen: Seen): string | undefined {
  if (!isJsonObject(result)) {
    found.add(path, 'must be an object');
    return undefined;
  }
  seen.tools = true;
  if (result['status'] !== undefined && !isOneOf(result['status'], 'success', 'error'))
    found.add(`${path}.status`, 'must be success or error');
  const parts = objectsAt(found, result['content'], `${path}.content`);
  if (parts.length === 0) found.add(`${path}.content`, 'must not be empty');
  for (const { item, path: at } of parts) {
    const kind = memberOf(found, item, at, ['text', 'json', 'image', 'document', 'video']);
    if (kind === 'text') checkText(found, item['text'], `${at}.text`);
    else if (kind === 'json' && !isJsonObject(item['json'])) found.add(`${at}.json`, 'must be an object');
    else if (kind !== undefined && kind in FORMATS) checkMedia(found, kind, item[kind], `${at}.${kind}`, seen);
  }
  const id = result['toolUseId'];
  if (isText(id)) return id;
  found.add(`${path}.toolUseId`, 'must be a string');
  return undefined;
}

function checkUserMessage(found: Problems, blocks: { item: JsonObject; path: string }[], seen: Seen, at: string): void {
  const answered = new Set<string>();
  const kinds = new Set<string>();
  for (const { item, path } of blocks) {
    const kind = memberOf(found, item, path, ['text', 'image', 'document', 'video', 'toolResult', 'cachePoint']);
    if (kind === undefined) continue;
    kinds.add(kind);
    if (kind === 'text') checkText(found, item['text'], `${path}.text`);
    else if (kind in FORMATS) checkMedia(found, kind, item[kind], `${path}.${kind}`, seen);
    if (kind !== 'toolResult') continue;
    const id = checkToolResult(found, item['toolResult'], `${path}.toolResult`, seen);
    if (id === undefined) continue;
    if (answered.has(id)) found.add(path, `each toolUse has a single toolResult; ${id} has more`);
    else if (!seen.open.has(id)) found.add(path, `the message before has no toolUse of the id ${id}`);
    answered.add(id);
  }
  if (kinds.has('document') && !kinds.has('text')) found.add(at, 'a document needs a text beside it');
  for (const id of seen.open) if (!answered.has(id)) found.add(at, `the toolUse ${id} has no toolResult here`);
  seen.open = new Set();
}

function checkReasoning(found: Problems, value: unknown, path: string): void {
  if (!isJsonObject(value)) return found.add(path, 'must be an object');
  const kind = memberOf(found, value, path, ['reasoningText', 'redactedContent']);
  if (kind === 'redactedContent') return checkBytes(found, value['redactedContent'], `${path}.redactedContent`);
  const text = value['reasoningText'];
  if (kind === undefined) return;
  if (!isJsonObject(text) || !isText(text['text'])) found.add(`${path}.reasoningText.text`, 'must be a string');
  else if (!isText(text['signature']) || text['signature'] === '')
    found.add(`${path}.reasoningText.signature`, 'reasoning needs the signature it came with');
}

function checkToolUse(found: Problems, value: unknown, path: string, seen: Seen): void {
  if (!isJsonObject(value)) return found.add(path, 'must be an object');
  seen.tools = true;
  const id = value['toolUseId'];
  if (!isText(id) || !CALL_ID.test(id)) found.add(`${path}.toolUseId`, `must match ${CALL_ID.source}`);
  else {
    checkUnique(found, seen.ids, id, `${path}.toolUseId`, 'toolUseIds');
    if (value['type'] === undefined) seen.open.add(id);
  }
  checkName(found, value['name'], `${path}.name`, 64);
  if (!isJsonObject(value['input'])) found.add(`${path}.input`, 'must be an object');
}

const ASSISTANT_BLOCKS = ['text', 'toolUse', 'toolResult', 'reasoningContent', 'citationsContent', 'cachePoint'];

function checkAssistantMessage(found: Problems, blocks: { item: JsonObject; path: string }[], seen: Seen): void {
  for (const { item, path } of blocks) {
    const kind = memberOf(found, item, path, ASSISTANT_BLOCKS);
    if (kind === 'text') checkText(found, item['text'], `${path}.text`);
    else if (kind === 'reasoningContent') checkReasoning(found, item[kind], `${path}.reasoningContent`);
    else if (kind === 'toolUse') checkToolUse(found, item[kind], `${path}.toolUse`, seen);
  }
  const last = blocks.at(-1);
  if (last?.item['reasoningContent'] !== undefined)
    found.add(last.path, 'the last block of an assistant message can not be reasoning');
}

function checkMessages(found: Problems, value: unknown, seen: Seen): void {
  const messages = objectsAt(found, value, 'messages');
  if (messages.length === 0) return found.add('messages', 'at least one message is required');
  let before: unknown;
  for (const { item, path } of messages) {
    const role = item['role'];
    if (role !== 'user' && role !== 'assistant') {
      found.add(`${path}.role`, 'must be user or assistant');
      continue;
    }
    if (before === undefined && role !== 'user') found.add(path, 'A conversation must start with a user message');
    if (before === role) found.add(path, `roles must alternate between user and assistant; two are ${role}`);
    before = role;
    const blocks = objectsAt(found, item['content'], `${path}.content`);
    if (blocks.length === 0) found.add(`${path}.content`, 'must not be empty');
    if (role === 'user') checkUserMessage(found, blocks, seen, path);
    else checkAssistantMessage(found, blocks, seen);
  }
  if (before === 'assistant') found.add('messages', 'A conversation must end with a user message');
}

function checkTools(found: Problems, config: unknown, seen: Seen): void {
  if (config === undefined) {
    if (seen.tools) found.add('toolConfig', 'must be defined when using toolUse and toolResult content blocks');
    return;
  }
  if (!isJsonObject(config)) return found.add('toolConfig', 'must be an object');
  const names = new Set<string>();
  const tools = objectsAt(found, config['tools'], 'toolConfig.tools');
  if (tools.length === 0) found.add('toolConfig.tools', 'must not be empty');
  for (const { item, path } of tools) {
    const kind = memberOf(found, item, path, ['toolSpec', 'systemTool', 'cachePoint']);
    const spec = item['toolSpec'];
    if (kind !== 'toolSpec') continue;
    if (!isJsonObject(spec)) {
      found.add(`${path}.toolSpec`, 'must be an object');
      continue;
    }
    checkName(found, spec['name'], `${path}.toolSpec.name`, 64);
    checkUnique(found, names, spec['name'], `${path}.toolSpec.name`, 'tool names');
    if (spec['description'] === '') found.add(`${path}.toolSpec.description`, 'must not be empty');
    const schema = spec['inputSchema'];
    checkSchema(found, isJsonObject(schema) ? schema['json'] : undefined, `${path}.toolSpec.inputSchema.json`);
  }
  const choice = config['toolChoice'];
  if (choice === undefined) return;
  if (!isJsonObject(choice)) return found.add('toolConfig.toolChoice', 'must be an object');
  if (memberOf(found, choice, 'toolConfig.toolChoice', ['auto', 'any', 'tool']) !== 'tool') return;
  const tool = choice['tool'];
  if (!isJsonObject(tool) || !isText(tool['name']) || !names.has(tool['name']))
    found.add('toolConfig.toolChoice.tool.name', 'must name one of the tools');
}

function checkInference(found: Problems, config: unknown): void {
  if (config === undefined) return;
  if (!isJsonObject(config)) return found.add('inferenceConfig', 'must be an object');
  if (config['maxTokens'] !== undefined) checkWholeNumber(found, config['maxTokens'], 'inferenceConfig.maxTokens');
  for (const key of ['temperature', 'topP'])
    if (config[key] !== undefined) checkRange(found, config[key], `inferenceConfig.${key}`, 0, 1);
  const stops = config['stopSequences'];
  if (stops !== undefined && !(Array.isArray(stops) && stops.every((stop) => isText(stop) && stop !== '')))
    found.add('inferenceConfig.stopSequences', 'must be texts that are not empty');
}

const FIELDS = [
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'guardrailConfig',
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'promptVariables',
  'requestMetadata',
  'performanceConfig',
  'serviceTier',
  'outputConfig',
];

/**
 * What Amazon Bedrock's Converse and ConverseStream would refuse in this request body; an empty list for a valid one.
 * It demands what the stricter of the models behind it do: roles that alternate, the user first and last, signed
 * reasoning, ids of calls that are unique in the whole conversation.
 *
 * @example
 * ```ts
 * import { validateBedrockRequest } from '@treadle/testing';
 *
 * console.log(validateBedrockRequest({ messages: [{ role: 'user', content: [{ text: ' ' }] }] }).length); // 1
 * ```
 */
export function validateBedrockRequest(body: unknown): string[] {
  const found = problems();
  if (!isJsonObject(body)) return ['The body must be a JSON object.'];
  for (const key of Object.keys(body)) if (!FIELDS.includes(key)) found.add(key, 'is no field of a request');
  const seen: Seen = { ids: new Set(), documents: new Set(), open: new Set(), tools: false };
  if (body['system'] !== undefined)
    for (const { item, path } of objectsAt(found, body['system'], 'system'))
      if (item['cachePoint'] === undefined) checkText(found, item['text'], `${path}.text`);
  checkMessages(found, body['messages'], seen);
  checkTools(found, body['toolConfig'], seen);
  checkInference(found, body['inferenceConfig']);
  checkUnicode(found, body);
  return found.list;
}
