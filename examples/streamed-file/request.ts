import { randomBytes } from 'node:crypto';
import type { JsonObject, UserContent } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { extractHtml } from '@treadle/formats';
import type { FileState } from './file.ts';
import type { ProviderKeys } from './models.ts';

const STACKS: Readonly<Record<string, string>> = {
  html_css: 'HTML with CSS and plain JavaScript',
  html_tailwind: 'HTML with Tailwind CSS, loaded from https://cdn.tailwindcss.com',
  react_tailwind: 'React with Tailwind CSS, both loaded from a CDN, in one HTML file',
  bootstrap: 'HTML with Bootstrap, loaded from a CDN',
  ionic_tailwind: 'Ionic with Tailwind CSS, both loaded from a CDN, in one HTML file',
  vue_tailwind: 'Vue 3 with Tailwind CSS, both loaded from a CDN, in one HTML file',
};

/** A message of the conversation so far. */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: readonly UserContent[];
}

/** What a client asks for. */
export interface GenerateRequest {
  /** The name under which the client finds it again. */
  readonly project: string;
  /** What the user asked for, in words. */
  readonly text: string;
  readonly isUpdate: boolean;
  readonly inputMode: 'image' | 'video' | 'text';
  /** The conversation before the prompt, oldest first. */
  readonly history: readonly Turn[];
  readonly prompt: readonly UserContent[];
  /** The file that is updated. */
  readonly file: FileState;
  readonly optionCodes: readonly string[];
  readonly images: boolean;
  /** True when the user attached images that the page may use. */
  readonly assets: boolean;
  readonly keys: ProviderKeys;
}

/** A request that can't be served; the message is for whoever made it. */
export class RequestProblem extends Error {}

/** What a client asks of a variant that it has. */
export interface ChangeRequest {
  readonly action: 'change';
  readonly project: string;
  /** From 0. */
  readonly variant: number;
  readonly prompt: readonly UserContent[];
  readonly text: string;
  readonly keys: ProviderKeys;
}

/** What a client sends: a new request, a change of one variant, or the wish to hear of a project. */
export type ClientMessage =
  | {
      readonly action: 'create';
      readonly request: GenerateRequest;
      /** True when the client gave the project's name, and so knows the messages of projects. */
      readonly isNamed: boolean;
    }
  | ChangeRequest
  | { readonly action: 'join'; readonly project: string };

/** Reads the one message that a client sends. @throws RequestProblem */
export function readMessage(text: string): ClientMessage {
  const given = parse(text);
  const action = oneOf(given, 'action', ['create', 'change', 'join'] as const, 'create');
  const isNamed = given['project'] !== undefined;
  if (action === 'create') return { action, request: readRequest(text), isNamed };
  const project = projectOf(given);
  if (action === 'join') return { action, project };
  const variant = given['variant'];
  if (!Number.isInteger(variant)) throw new RequestProblem('variant must be a number, from 0.');
  const prompt = contentOf(given['prompt'], 'prompt');
  if (prompt.length === 0) throw new RequestProblem('The prompt is empty: say what is to be changed.');
  return { action, project, variant: Number(variant), prompt, text: wordsOf(prompt), keys: keysOf(given) };
}

const PROJECT = /^[\w-]{8,40}$/;

function projectOf(given: JsonObject): string {
  const name = textOf(given['project']);
  if (!PROJECT.test(name)) throw new RequestProblem('project must have 8 to 40 letters, digits, - and _.');
  return name;
}

const wordsOf = (content: readonly UserContent[]): string =>
  content.findLast((block) => block.type === 'text')?.text ?? '';

function parse(text: string): JsonObject {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new RequestProblem('The request is no JSON.');
  }
  if (!isJsonObject(given)) throw new RequestProblem('The request must be a JSON object.');
  return given;
}

/** Reads a request for pages. @throws RequestProblem */
export function readRequest(text: string): GenerateRequest {
  const given = parse(text);
  const stack = STACKS[oneOf(given, 'generatedCodeConfig', Object.keys(STACKS), 'html_tailwind')] ?? '';
  const inputMode = oneOf(given, 'inputMode', ['image', 'video', 'text'] as const, 'text');
  const isUpdate = oneOf(given, 'generationType', ['create', 'update'] as const, 'create') === 'update';
  const images = given['isImageGenerationEnabled'] !== false;
  const prompt = contentOf(given['prompt'], 'prompt');
  const fileState = isJsonObject(given['fileState']) ? given['fileState'] : {};
  const history = isUpdate ? arrayOf(given, 'history').map((turn, at) => turnOf(turn, `history[${at}]`)) : [];
  const plan = planOf(isUpdate, history, prompt, textOf(fileState['content']));
  return {
    project: given['project'] === undefined ? randomBytes(12).toString('hex') : projectOf(given),
    text: wordsOf(plan.prompt),
    ...withAdvice(plan, adviceOf(stack, images, textOf(given['designSystem']))),
    isUpdate,
    inputMode,
    images,
    assets: given['isAssetExtractionEnabled'] !== false && hasImages(plan),
    file: { path: textOf(fileState['path']) || 'index.html', content: currentCode(given, history, fileState) },
    optionCodes: arrayOf(given, 'optionCodes').map(textOf),
    keys: keysOf(given),
  };
}

const hasImages = ({ history, prompt }: Plan): boolean =>
  [...history.flatMap(({ content }) => content), ...prompt].some(({ type }) => type === 'image');

type Plan = Pick<GenerateRequest, 'history' | 'prompt'>;

/** A new page, an update that follows a conversation, or one of a file that nobody remembers writing. */
function planOf(isUpdate: boolean, history: readonly Turn[], prompt: readonly UserContent[], code: string): Plan {
  if (!isUpdate) {
    if (prompt.length === 0) throw new RequestProblem('The prompt is empty: give a text, an image or a video.');
    return { history: [], prompt };
  }
  if (history.length > 0) {
    if (!history.some(({ role }) => role === 'user')) throw new RequestProblem('The history has no message of a user.');
    if (prompt.length > 0) return { history, prompt };
    const last = history.at(-1);
    if (last?.role !== 'user')
      throw new RequestProblem('The history must end with what the user wants, or give a prompt.');
    return { history: history.slice(0, -1), prompt: last.content };
  }
  if (code === '') throw new RequestProblem('An update needs a history or the file that is to be updated.');
  if (prompt.length === 0) throw new RequestProblem('The prompt is empty: say what is to be changed.');
  const file: UserContent = { type: 'text', text: `This is the file as it is now:\n\n${code}` };
  return { history: [], prompt: [file, ...prompt] };
}

/** Puts what models are to know before the first message of a user. */
function withAdvice({ history, prompt }: Plan, advice: string): Plan {
  const block: UserContent = { type: 'text', text: advice };
  const first = history.findIndex(({ role }) => role === 'user');
  const turn = history[first];
  if (!turn) return { history, prompt: [block, ...prompt] };
  return { prompt, history: history.with(first, { ...turn, content: [block, ...turn.content] }) };
}

function adviceOf(stack: string, images: boolean, design: string): string {
  const policy = images
    ? 'Use the image tools you have for pictures; without any, use placeholder shapes of CSS.'
    : 'Make no images: use placeholder shapes of CSS.';
  return [
    `Write one page in ${stack}. ${policy}`,
    ...(design === '' ? [] : [`Keep to this design system:\n${design}`]),
  ].join('\n');
}

/** The file that is updated: as the client has it, else what the assistant said last. */
function currentCode(given: JsonObject, history: readonly Turn[], fileState: JsonObject): string | null {
  if (given['generationType'] !== 'update') return null;
  const content = textOf(fileState['content']);
  if (content !== '') return content;
  const last = history.findLast(({ role }) => role === 'assistant');
  const said = last?.content.map((block) => (block.type === 'text' ? block.text : '')).join('') ?? '';
  return extractHtml(said);
}

function turnOf(value: unknown, name: string): Turn {
  if (!isJsonObject(value)) throw new RequestProblem(`${name} must be an object.`);
  const role = oneOf(value, 'role', ['user', 'assistant'] as const, 'user');
  return { role, content: contentOf(value, name) };
}

function contentOf(value: unknown, name: string): UserContent[] {
  if (value === undefined || value === null) return [];
  if (!isJsonObject(value)) throw new RequestProblem(`${name} must be an object with text, images or videos.`);
  const media = [...arrayOf(value, 'images'), ...arrayOf(value, 'videos')].map((url) => mediaOf(url, name));
  const text = textOf(value['text']).trim();
  return [...media, ...(text === '' ? [] : [{ type: 'text' as const, text }])];
}

const DATA_URL = /^data:((?:image|video)\/[\w.+-]+);base64,([A-Za-z0-9+/=]+)$/;

function mediaOf(value: unknown, name: string): UserContent {
  const [, mediaType, data] = DATA_URL.exec(textOf(value)) ?? [];
  if (mediaType === undefined || data === undefined) {
    throw new RequestProblem(`Images and videos of ${name} must be data URLs in base64.`);
  }
  return { type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType, data };
}

function keysOf(given: JsonObject): ProviderKeys {
  const names = ['openAiApiKey', 'openAiBaseURL', 'anthropicApiKey', 'geminiApiKey'] as const;
  return Object.fromEntries(names.flatMap((name) => (textOf(given[name]) === '' ? [] : [[name, textOf(given[name])]])));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function arrayOf(given: JsonObject, name: string): readonly unknown[] {
  const value = given[name] ?? [];
  if (!Array.isArray(value)) throw new RequestProblem(`${name} must be an array.`);
  return value;
}

function oneOf<Value extends string>(
  given: JsonObject,
  name: string,
  values: readonly Value[],
  otherwise: Value,
): Value {
  const value = given[name] ?? otherwise;
  const found = values.find((known) => known === value);
  if (found === undefined) throw new RequestProblem(`${name} must be one of ${values.join(', ')}.`);
  return found;
}
