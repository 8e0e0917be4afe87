// Checks the wire protocols against a folder of recorded streams: `npm run check:wire -- DIR [wire…]`.
//
// DIR/expected.json is a list of `{file, wire, contentType, expected}`; `expected` has text, reasoning, reasoningOpaque,
// toolCalls, serverTools, finish, usage and error. Every stream is read whole, byte by byte and in random pieces.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Http } from '@treadle/core';
import type { ModelBlock, ModelEvent, ModelWarning } from '@treadle/core/model';
import {
  anthropicMessages,
  bedrockConverse,
  gemini,
  ollamaChat,
  openaiChat,
  openaiResponses,
  wireModel,
} from '@treadle/models';
import type { Protocol } from '@treadle/models';
import { wholeReply } from './wires/whole.ts';
import { recordedArguments, recordedItem, responsesIn, sameEnding } from './wires/openai-responses.ts';

interface Row {
  readonly file: string;
  readonly wire: string;
  readonly contentType: string;
  readonly expected: {
    readonly text: string;
    readonly reasoning: string;
    readonly reasoningOpaque?: readonly { readonly kind: string; readonly len: number }[];
    readonly toolCalls: readonly { readonly id?: string; readonly name: string; readonly args?: unknown }[];
    readonly serverTools?: readonly unknown[];
    readonly finish: string | null;
    readonly usage: unknown;
    readonly error: { readonly code?: string; readonly message?: string } | null;
  };
}

/** What a stream came to, in the words of `expected.json`. */
interface Outcome {
  text: string;
  reasoning: string;
  reasoningOpaque: { kind: string; len: number }[];
  toolCalls: { id: string; name: string; args: unknown }[];
  serverTools: unknown[];
  finish: string | null;
  usage: unknown;
  warnings: ModelWarning[];
  error: { code?: string; message: string } | null;
}

/** The protocols, by the names recordings have for their wires. Mistral's is a dialect of Chat Completions. */
const PROTOCOLS: ReadonlyMap<string, () => Protocol> = new Map([
  ['anthropic-messages', () => anthropicMessages()],
  ['bedrock-converse', () => bedrockConverse()],
  ['gemini', () => gemini()],
  ['ollama-chat', () => ollamaChat()],
  ['openai-chat', () => openaiChat()],
  ['mistral-chat', () => openaiChat()],
  ['openai-responses', () => openaiResponses()],
]);

/** The same pieces in every run: a failure must come back. */
function randomSizes(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 1 + Math.floor((state / 2 ** 32) * 37);
  };
}

const CHUNKINGS: ReadonlyMap<string, (length: number) => () => number> = new Map([
  ['whole', (length: number) => () => length],
  ['one byte', () => () => 1],
  ['random', () => randomSizes(20_260_101)],
]);

async function* pieces(bytes: Uint8Array, size: () => number): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < bytes.length;) {
    const end = position + size();
    // A copy, so that nothing can read past the piece.
    yield bytes.slice(position, end);
    position = end;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text);
  } catch {
    return text;
  }
}

function addBlock(outcome: Outcome, block: ModelBlock, wire: string): void {
  if (wire === 'openai-responses') {
    const item = recordedItem(block);
    if (item !== undefined) {
      outcome.serverTools.push(item);
      return;
    }
  }
  // Gemini signs any part; of a reply's other parts only the signature is opaque.
  const signature = 'opaque' in block ? block.opaque?.['thoughtSignature'] : undefined;
  if (typeof signature === 'string') outcome.reasoningOpaque.push({ kind: 'signature', len: signature.length });
  switch (block.type) {
    case 'text':
      outcome.text += block.text;
      return;
    case 'thinking':
      outcome.reasoning += block.text;
      if (block.signature !== undefined)
        outcome.reasoningOpaque.push({ kind: 'signature', len: block.signature.length });
      return;
    case 'redacted_thinking':
      outcome.reasoningOpaque.push({ kind: 'redacted', len: block.data.length });
      return;
    case 'tool_call':
      outcome.toolCalls.push({ id: block.providerCallId, name: block.name, args: parsed(recordedArguments(block)) });
      return;
    case 'provider_tool_call':
      outcome.serverTools.push({ id: block.callId, name: block.name, args: block.arguments });
      return;
    case 'provider_tool_result':
      outcome.serverTools.push({ resultFor: block.callId, type: block.raw['type'] });
      return;
    default:
  }
}

const emptyOutcome = (): Outcome => ({
  text: '',
  reasoning: '',
  reasoningOpaque: [],
  toolCalls: [],
  serverTools: [],
  finish: null,
  usage: null,
  error: null,
  warnings: [],
});

/** Adds a stream's blocks to an outcome. Text of a block that was cut off comes from its deltas. */
function collect(outcome: Outcome, events: readonly ModelEvent[], wire: string): void {
  let blocks = new Map<number, ModelBlock>();
  for (const event of events) {
    if (event.type === 'start') blocks = new Map();
    else if (event.type === 'text_delta' || event.type === 'thinking_delta') {
      const type = event.type === 'text_delta' ? 'text' : 'thinking';
      const before = blocks.get(event.index);
      blocks.set(event.index, {
        type,
        text: (before !== undefined && 'text' in before ? before.text : '') + event.text,
      });
    } else if (event.type === 'block_end') blocks.set(event.index, event.block);
    else if (event.type === 'finish') {
      outcome.finish = event.rawStopReason ?? null;
      outcome.usage = event.rawUsage ?? null;
      outcome.warnings.push(...(event.warnings ?? []));
    } else if (event.type === 'error') {
      const { code, message } = event.error;
      outcome.error = code === undefined ? { message } : { code, message };
    }
  }
  for (const [, block] of [...blocks].sort(([a], [b]) => a - b)) addBlock(outcome, block, wire);
}

/** What one response body streams. */
async function streamed(
  protocol: Protocol,
  contentType: string,
  bytes: Uint8Array,
  size: () => number,
): Promise<ModelEvent[]> {
  const http: Http = () =>
    Promise.resolve({ status: 200, headers: { 'content-type': contentType }, body: pieces(bytes, size) });
  const model = wireModel({
    protocol,
    provider: 'recorded',
    modelId: 'recorded',
    baseUrl: 'http://localhost',
    headers: {},
    http,
  });
  const events: ModelEvent[] = [];
  const request = { system: '', messages: [], tools: [] };
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  return events;
}

async function decode(protocol: Protocol, row: Row, bytes: Uint8Array, size: () => number): Promise<Outcome> {
  const outcome = emptyOutcome();
  const bodies = row.wire === 'openai-responses' ? responsesIn(bytes) : [bytes];
  for (const body of bodies) collect(outcome, await streamed(protocol, row.contentType, body, size), row.wire);
  return outcome;
}

const short = (value: unknown): string => {
  const json = JSON.stringify(value) ?? 'undefined';
  return json.length > 300 ? `${json.slice(0, 300)}… (${json.length} characters)` : json;
};

/** Recordings leave `args` out, or keep the text, where the arguments can't be parsed. */
function sameCalls(expected: Row['expected']['toolCalls'], actual: Outcome['toolCalls']): boolean {
  if (expected.length !== actual.length) return false;
  return expected.every(({ id, name, args }, at) => {
    const call = actual[at];
    if (call === undefined || call.name !== name || (id !== undefined && call.id !== id)) return false;
    return args === undefined ? typeof call.args === 'string' : isDeepStrictEqual(args, call.args);
  });
}

/** Encrypted reasoning is a signature beside readable reasoning and redacted reasoning alone. */
function sameOpaque(expected: Row['expected']['reasoningOpaque'], actual: Outcome['reasoningOpaque']): boolean {
  const wanted = expected ?? [];
  const kind = (name: string): string =>
    name.startsWith('redacted') ? 'redacted' : name === 'thoughtSignature' ? 'signature' : name;
  return (
    wanted.length === actual.length &&
    wanted.every((part, at) => {
      const found = actual[at];
      return part.len === found?.len && (part.kind === 'encrypted_content' || kind(part.kind) === found.kind);
    })
  );
}

function sameError(expected: Row['expected']['error'], actual: Outcome['error']): boolean {
  if (expected === null || actual === null) return expected === actual;
  return (
    (expected.code === undefined || expected.code === actual.code) &&
    (expected.message === undefined || expected.message === actual.message)
  );
}

/** Every difference between what a recording holds and what was read, a line each. */
function differences({ expected, wire }: Row, actual: Outcome): string[] {
  const found: string[] = [];
  const check = (what: string, same: boolean, wanted: unknown, got: unknown): void => {
    if (!same) found.push(`${what}\n      expected ${short(wanted)}\n      got      ${short(got)}`);
  };
  check('text', expected.text === actual.text, expected.text, actual.text);
  check('reasoning', expected.reasoning === actual.reasoning, expected.reasoning, actual.reasoning);
  const { reasoningOpaque, toolCalls, serverTools = [], finish, usage, error } = expected;
  check(
    'opaque reasoning',
    sameOpaque(reasoningOpaque, actual.reasoningOpaque),
    reasoningOpaque,
    actual.reasoningOpaque,
  );
  check('tool calls', sameCalls(toolCalls, actual.toolCalls), toolCalls, actual.toolCalls);
  check('server tools', isDeepStrictEqual(serverTools, actual.serverTools), serverTools, actual.serverTools);
  const ended = wire === 'openai-responses' && sameEnding(finish, actual.finish, actual.error !== null);
  check('finish', ended || finish === actual.finish, finish, actual.finish);
  check('usage', isDeepStrictEqual(usage, actual.usage), usage, actual.usage);
  check('warnings', actual.warnings.length === 0, [], actual.warnings);
  check('error', sameError(error, actual.error), error, actual.error);
  return found;
}

/** What a stream and the whole reply that it amounts to have in common: the message. */
const messageOf = ({ serverTools, toolCalls, text, reasoning, reasoningOpaque, finish }: Outcome): object => ({
  serverTools,
  toolCalls,
  text,
  reasoning,
  reasoningOpaque,
  finish,
});

/** The whole reply must be the same message as the stream. */
async function checkWhole(row: Row, protocol: Protocol, bytes: Uint8Array): Promise<string[]> {
  const outcome = emptyOutcome();
  const asStreamed = await decode(protocol, row, bytes, () => bytes.length);
  const bodies = row.wire === 'openai-responses' ? responsesIn(bytes) : [bytes];
  for (const body of bodies) {
    const whole = wholeReply(row.wire, protocol, body);
    if (whole === undefined) return [];
    const json = new TextEncoder().encode(JSON.stringify(whole));
    collect(outcome, await streamed(protocol, 'application/json', json, () => json.length), row.wire);
  }
  const [expected, got] = [messageOf(asStreamed), messageOf(outcome)];
  if (isDeepStrictEqual(expected, got)) return [];
  return [`whole reply\n      expected ${short(expected)}\n      got      ${short({ ...got, error: outcome.error })}`];
}

async function checkRow(folder: string, row: Row, protocol: Protocol): Promise<string[]> {
  const bytes = new Uint8Array(readFileSync(join(folder, row.file)));
  const failures: string[] = [];
  for (const [name, sizes] of CHUNKINGS) {
    const outcome = await decode(protocol, row, bytes, sizes(bytes.length));
    for (const difference of differences(row, outcome)) failures.push(`${name}: ${difference}`);
  }
  if (row.expected.error === null && row.expected.finish !== null)
    failures.push(...(await checkWhole(row, protocol, bytes)));
  return failures;
}

async function main(args: readonly string[]): Promise<number> {
  const [folder, ...wires] = args;
  const list = folder === undefined ? undefined : join(folder, 'expected.json');
  if (folder === undefined || list === undefined || !existsSync(list)) {
    console.error('Usage: npm run check:wire -- DIR [wire…]   DIR holds expected.json and the recordings it names.');
    return 2;
  }
  const all = JSON.parse(readFileSync(list, 'utf8')) as readonly Row[];
  const rows = all.filter((row) => wires.length === 0 || wires.includes(row.wire));
  const tally = new Map<string, { passed: number; failed: number; uncovered: number }>();
  for (const row of rows) {
    const counts = tally.get(row.wire) ?? { passed: 0, failed: 0, uncovered: 0 };
    tally.set(row.wire, counts);
    const create = PROTOCOLS.get(row.wire);
    if (create === undefined) {
      counts.uncovered++;
      continue;
    }
    const failures = await checkRow(folder, row, create());
    if (failures.length === 0) {
      counts.passed++;
      continue;
    }
    counts.failed++;
    console.log(`FAILED ${row.wire} ${row.file}`);
    for (const failure of failures) console.log(`    ${failure}`);
  }
  let failed = 0;
  let checked = 0;
  for (const [wire, counts] of tally) {
    failed += counts.failed;
    checked += counts.passed + counts.failed;
    if (counts.uncovered > 0) console.log(`${wire}: ${counts.uncovered} not covered, no protocol for this wire yet`);
    else console.log(`${wire}: ${counts.passed} passed, ${counts.failed} failed`);
  }
  if (checked === 0) console.error(`Nothing to check: no recording of ${[...PROTOCOLS.keys()].join(', ')} was chosen.`);
  return failed > 0 || checked === 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
