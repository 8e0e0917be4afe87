import type { AssistantContent } from '../../messages/content.ts';
import type { ModelMessage } from '../../messages/message.ts';
import type { Model, ModelRequest, ToolDefinition } from '../../model/model.ts';
import { CALL_TOOL, SEARCH_TOOLS } from '../../tools/tool-search-names.ts';
import type { Tool } from '../../tools/tool.ts';

/** What a model is told of `call_tool`. Nothing executes it: its calls are calls of the tools that they name. */
export const CALL_TOOL_DEFINITION: ToolDefinition = {
  name: CALL_TOOL,
  description: 'Calls a tool that search_tools has found. Its result is the result of that tool.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The name of the tool.' },
      arguments: { type: 'object', description: 'Its arguments, as its inputSchema has them.' },
    },
    required: ['name', 'arguments'],
  },
};

/** What this feature reads of an agent. */
interface Deferring {
  readonly tools: ReadonlyMap<string, Tool>;
}

/**
 * The request as a model gets it whose agent defers tools: one whose wire adds definitions in place gets all of them, but not
 * those that are `removed`, which rules deny altogether.
 */
export function deferredRequest(
  request: ModelRequest,
  agent: Deferring,
  { deferredTools }: Model,
  removed: () => ReadonlySet<string>,
): ModelRequest {
  return deferredTools === true ? withDeferred(request, agent, removed) : withWrappedCalls(request);
}

interface Split {
  readonly tools: readonly ToolDefinition[];
  readonly deferredTools: readonly ToolDefinition[];
  readonly known: Known;
}

/** By the tools of the request, which are the same list while the agent and its rules are. */
const split = new WeakMap<readonly ToolDefinition[], Split>();

function withDeferred(request: ModelRequest, agent: Deferring, removed: () => ReadonlySet<string>): ModelRequest {
  let made = split.get(request.tools);
  if (!made) {
    const tools = request.tools.filter(({ name }) => name !== CALL_TOOL);
    const denied = removed();
    const declared = new Set(tools.map(({ name }) => name));
    const deferredTools = [...agent.tools.values()]
      .filter(({ name }) => !declared.has(name) && !denied.has(name))
      .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const known = new Map(deferredTools.map((tool) => [tool.name, tool]));
    split.set(request.tools, (made = { tools, deferredTools, known }));
  }
  const known = made.known;
  const messages = request.messages.map((message) => withFound(message, known));
  return { ...request, tools: made.tools, deferredTools: made.deferredTools, messages };
}

type Known = ReadonlyMap<string, ToolDefinition>;

const searched = new WeakMap<ModelMessage, { readonly for: Known; readonly message: ModelMessage }>();

/** A result of a search with the definitions of what it found, as they are now. */
function withFound(message: ModelMessage, known: Known): ModelMessage {
  if (message.role !== 'tool' || message.toolName !== SEARCH_TOOLS || message.isError) return message;
  const made = searched.get(message);
  if (made?.for === known) return made.message;
  const foundTools = namesFound(message).flatMap((name) => known.get(name) ?? []);
  const extended = { ...message, foundTools };
  searched.set(message, { for: known, message: extended });
  return extended;
}

/** The names in a result of `search_tools`: it has a line for each tool, and some may have been cut. */
function namesFound({ content }: Extract<ModelMessage, { role: 'tool' }>): readonly string[] {
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return [...text.matchAll(/^\[?\{"name":"([\w.-]+)"/gm)].flatMap(([, name]) => name ?? []);
}

const namesOf = new WeakMap<ModelRequest['tools'], ReadonlySet<string>>();
const written = new WeakMap<ModelMessage, { readonly for: ReadonlySet<string>; readonly message: ModelMessage }>();

/**
 * The request with calls of deferred tools as the model made them. A tool is deferred when the request doesn't declare it,
 * whatever became of it since: so messages stay as they were sent.
 */
function withWrappedCalls(request: ModelRequest): ModelRequest {
  const { tools } = request;
  let declared = namesOf.get(tools);
  if (!declared) namesOf.set(tools, (declared = new Set(tools.map(({ name }) => name))));
  const names = declared;
  return { ...request, messages: request.messages.map((message) => wrapped(message, names)) };
}

/** The same object for the same message, so that a wire writes it once. */
function wrapped(message: ModelMessage, declared: ReadonlySet<string>): ModelMessage {
  if (message.role === 'user') return message;
  const known = written.get(message);
  if (known?.for === declared) return known.message;
  const made = wrap(message, declared);
  written.set(message, { for: declared, message: made });
  return made;
}

function wrap(message: Exclude<ModelMessage, { role: 'user' }>, declared: ReadonlySet<string>): ModelMessage {
  if (message.role === 'tool') return declared.has(message.toolName) ? message : { ...message, toolName: CALL_TOOL };
  const isDeferred = (block: AssistantContent): boolean => block.type === 'tool_call' && !declared.has(block.name);
  if (!message.content.some(isDeferred)) return message;
  const content = message.content.map((block) =>
    block.type === 'tool_call' && !declared.has(block.name)
      ? { ...block, name: CALL_TOOL, arguments: { name: block.name, arguments: block.arguments } }
      : block,
  );
  return { ...message, content };
}
