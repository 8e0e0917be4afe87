import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { Check } from '../checks.ts';
import * as is from '../checks.ts';
import { inWords, isText, objectsAt, problemsOf, turnsAt, type Place, type Problems } from '../requests.ts';

/** What one request may have only once. */
interface Seen {
  readonly ids: Set<string>;
  readonly documents: Set<string>;
  /** Calls of the message before that wait for their result. */
  open: Set<string>;
  /** There are calls or results, so there must be tools. */
  tools: boolean;
}

const BYTES = is.textThat((text) => text !== '' && is.BASE64.test(text), 'must be base64 of some bytes');

const SOURCE: Check = (found, value, path) => {
  const source = isJsonObject(value) ? value : {};
  const place = source['s3Location'];
  if (!isJsonObject(place)) return BYTES(found, source['bytes'], `${path}.bytes`);
  is.textThat((uri) => uri.startsWith('s3://'), 'must be in S3')(found, place['uri'], path);
};

const media = (...formats: readonly string[]): Check => is.record({ format: is.oneOf(formats), source: SOURCE });
const DOCUMENT_NAME = is.textThat(
  (name) => /^[a-zA-Z0-9\s()[\]-]{1,200}$/.test(name) && !/\s\s/.test(name),
  'has only letters, digits, single spaces, hyphens, parentheses and square brackets',
);

/** The media of one request, whose documents have names of their own. */
const mediaOf = ({ documents }: Seen): Readonly<Record<string, Check>> => ({
  image: media('png', 'jpeg', 'gif', 'webp'),
  document: is.all(
    media('pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'),
    is.record({ name: DOCUMENT_NAME }),
    is.record({ name: is.unique(documents, 'document names') }),
  ),
  video: media('mkv', 'mov', 'mp4', 'webm', 'flv', 'mpeg', 'mpg', 'wmv', 'three_gp'),
});

/** Checks the one member of a union. Returns its name, or undefined with a problem. */
function memberOf(
  found: Problems,
  block: JsonObject,
  path: string,
  members: Readonly<Record<string, Check>>,
): string | undefined {
  const keys = Object.keys(block);
  const [kind = ''] = keys;
  const check = Object.hasOwn(members, kind) ? members[kind] : undefined;
  if (keys.length !== 1 || check === undefined) {
    found.add(path, `must have exactly one of ${Object.keys(members).join(', ')}; it has ${inWords(keys)}`);
    return undefined;
  }
  check(found, block[kind], `${path}.${kind}`);
  return kind;
}

/** A union of which exactly one member is there. */
const union =
  (members: Readonly<Record<string, Check>>): Check =>
  (found, value, path) => {
    if (isJsonObject(value)) memberOf(found, value, path, members);
    else found.add(path, 'must be an object');
  };

const toolResultOf = (seen: Seen): Check =>
  is.all(
    is.record({
      status: is.optional(is.oneOf(['success', 'error'], 'must be success or error')),
      content: is.listOf(union({ text: is.SPOKEN, json: is.OBJECT, ...mediaOf(seen) }), 'must not be empty'),
      toolUseId: is.STRING,
    }),
    () => void (seen.tools = true),
  );

function checkUserMessage(found: Problems, blocks: readonly Place[], seen: Seen, at: string): void {
  const answered = new Set<string>();
  const kinds = new Set<string | undefined>();
  const members = { text: is.SPOKEN, ...mediaOf(seen), toolResult: toolResultOf(seen), cachePoint: is.ANYTHING };
  for (const { item, path } of blocks) {
    kinds.add(memberOf(found, item, path, members));
    const id = isJsonObject(item['toolResult']) ? item['toolResult']['toolUseId'] : undefined;
    if (!isText(id)) continue;
    if (answered.has(id)) found.add(path, `each toolUse has a single toolResult; ${id} has more`);
    else if (!seen.open.has(id)) found.add(path, `the message before has no toolUse of the id ${id}`);
    answered.add(id);
  }
  if (kinds.has('document') && !kinds.has('text')) found.add(at, 'a document needs a text beside it');
  for (const id of seen.open) if (!answered.has(id)) found.add(at, `the toolUse ${id} has no toolResult here`);
  seen.open = new Set();
}

const REASONING = union({
  reasoningText: is.record({
    text: is.STRING,
    signature: is.textThat((text) => text !== '', 'reasoning needs the signature it came with'),
  }),
  redactedContent: BYTES,
});

const toolUseOf = (seen: Seen): Check =>
  is.all(
    is.record({ toolUseId: is.NAME_64, name: is.NAME_64, input: is.OBJECT }),
    is.record({ toolUseId: is.unique(seen.ids, 'toolUseIds') }),
    (_found, { toolUseId, type }) => {
      seen.tools = true;
      if (isText(toolUseId) && type === undefined) seen.open.add(toolUseId);
    },
  );

function checkAssistantMessage(found: Problems, blocks: readonly Place[], seen: Seen): void {
  const members = {
    text: is.SPOKEN,
    toolUse: toolUseOf(seen),
    toolResult: is.ANYTHING,
    reasoningContent: REASONING,
    citationsContent: is.ANYTHING,
    cachePoint: is.ANYTHING,
  };
  for (const { item, path } of blocks) memberOf(found, item, path, members);
  const last = blocks.at(-1);
  if (last?.item['reasoningContent'] !== undefined)
    found.add(last.path, 'the last block of an assistant message can not be reasoning');
}

function checkMessages(found: Problems, value: unknown, seen: Seen): void {
  const messages = turnsAt(found, value, {
    path: 'messages',
    roles: ['user', 'assistant'],
    none: 'at least one message is required',
    role: 'must be user or assistant',
  });
  const [first] = messages;
  if (first?.role === 'assistant') found.add(first.path, 'A conversation must start with a user message');
  for (const { item, path, role } of messages) {
    const blocks = objectsAt(found, item['content'], `${path}.content`);
    if (blocks.length === 0) found.add(`${path}.content`, 'must not be empty');
    if (role === 'user') checkUserMessage(found, blocks, seen, path);
    else checkAssistantMessage(found, blocks, seen);
  }
  if (messages.at(-1)?.role === 'assistant') found.add('messages', 'A conversation must end with a user message');
}

function checkTools(found: Problems, config: unknown, seen: Seen): void {
  if (config === undefined) {
    if (seen.tools) found.add('toolConfig', 'must be defined when using toolUse and toolResult content blocks');
    return;
  }
  const names = new Set<string>();
  const spec = is.all(
    is.record({
      name: is.NAME_64,
      description: is.anyThat((text) => text !== '', 'must not be empty'),
      inputSchema: is.record({ json: is.SCHEMA }),
    }),
    is.record({ name: is.unique(names, 'tool names') }),
  );
  const declared = is.textThat((name) => names.has(name), 'must name one of the tools');
  is.record({
    tools: is.listOf(union({ toolSpec: spec, systemTool: is.ANYTHING, cachePoint: is.ANYTHING }), 'must not be empty'),
    toolChoice: is.optional(union({ auto: is.ANYTHING, any: is.ANYTHING, tool: is.record({ name: declared }) })),
  })(found, config, 'toolConfig');
}

const INFERENCE = is.record({
  maxTokens: is.optional(is.WHOLE_NUMBER),
  temperature: is.optional(is.between(0, 1)),
  topP: is.optional(is.between(0, 1)),
  stopSequences: is.optional(is.texts((stop) => stop !== '', 'must be texts that are not empty')),
});

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
  return problemsOf(body, (found, request) => {
    for (const key of Object.keys(request)) if (!FIELDS.includes(key)) found.add(key, 'is no field of a request');
    const seen: Seen = { ids: new Set(), documents: new Set(), open: new Set(), tools: false };
    const system = is.listOf((problems, block, path) => {
      if (isJsonObject(block) && block['cachePoint'] === undefined) is.SPOKEN(problems, block['text'], `${path}.text`);
    });
    is.optional(system)(found, request['system'], 'system');
    checkMessages(found, request['messages'], seen);
    checkTools(found, request['toolConfig'], seen);
    is.optional(INFERENCE)(found, request['inferenceConfig'], 'inferenceConfig');
  });
}
