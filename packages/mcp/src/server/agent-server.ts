import type { McpHttpHandler, McpServer, McpServerFactory, ServerContext } from '@modelcontextprotocol/server';
import { memoryJournal, TreadleError } from '@treadle/core';
import type { Agent, Blobs, JsonObject, Journal, JsonValue, RunResult, Session } from '@treadle/core';

import { answered, AgentRuns, formOf, keyOf, problemText } from './agent-runs.ts';
import type { RunState } from './agent-runs.ts';
import { TASKS_EXTENSION } from '../client/task-results.ts';
import { callingAgent, listed, promptFor, resultIn } from './offered-tools.ts';
import { offerPrompts, type AgentPrompt } from './prompts.ts';
import { offerResources, type AgentResource } from './resources.ts';
import { beginTask, capabilitiesOf, offerTasks, takesTasks } from './tasks.ts';

/** Settings of {@link mcpServer}. */
export interface McpServerOptions {
  /** Where sessions are kept, and calls of offered tools. Default: in memory, without the calls that have ended. */
  readonly journal?: Journal;
  readonly blobs?: Blobs;
  /** What clients call it. Default: the agent's id. */
  readonly name?: string;
  readonly version?: string;
  /** What the agent is good for: models choose it by this. */
  readonly description?: string;
  readonly prompts?: readonly AgentPrompt[];
  /** Resources beside the agent's sessions. */
  readonly resources?: readonly AgentResource[];
  /**
   * Tools of the agent that clients may call themselves, by name, or all. Each call is a run of its own: permissions, hooks
   * and limits of the agent hold, and what needs an approval is asked of the client's user.
   */
  readonly tools?: readonly string[] | true;
}

/** An agent as an MCP server. */
export interface McpAgentServer extends AsyncDisposable {
  /** Makes the SDK's server for one connection, or one request: for `serveStdio` and `createMcpHandler`. */
  readonly factory: McpServerFactory;
  /** Serves one client over this process's standard input and output, until it leaves. */
  serveStdio(): Promise<void>;
  /** Answers one request of Streamable HTTP. Check who asks before you call it. */
  fetch(request: Request): Promise<Response>;
  /** Lets go of sessions. Runs that are under way are left for another process to resume. */
  close(): Promise<void>;
}

const STATE_SCHEMA = {
  type: 'object',
  properties: {
    session: { type: 'string' },
    status: { type: 'string' },
    text: { type: 'string' },
    pending: { type: 'array', items: { type: 'object' } },
  },
  required: ['session', 'status', 'text', 'pending'],
};

const SESSION_ARGUMENT = { session: { type: 'string', description: 'The id of a session.' } };

const OWN: ReadonlySet<string> = new Set(['run', 'status', 'cancel']);

/**
 * Offers an agent to MCP clients: a tool that has it do a task, its sessions as resources, and prompts. What the agent may not
 * do by itself is asked of the client's user, where the client can ask; otherwise the run pauses, and goes on wherever it is
 * answered.
 *
 * @example
 * ```ts
 * import { defineAgent } from '@treadle/core';
 * import { mcpServer } from '@treadle/mcp';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const agent = defineAgent({ id: 'greeter', model: scriptedModel(['Hello!']) });
 * await using server = mcpServer(agent, { description: 'Greets people.' });
 * const response = await server.fetch(new Request('http://127.0.0.1/mcp', { method: 'GET' }));
 * console.log(response.status); // 405
 * ```
 */
export function mcpServer(agent: Agent, options: McpServerOptions = {}): McpAgentServer {
  const { journal = memoryJournal(), blobs } = options;
  const runs = new AgentRuns({ agent, journal, blobs });
  const calling = callingAgent(agent, options.tools ?? [], OWN);
  const calls = new AgentRuns({ agent: calling, journal, blobs });
  const factory: McpServerFactory = async () => newServer({ agent, runs, calling, calls, journal }, options);
  let handler: Promise<McpHttpHandler> | null = null;
  const close = async (): Promise<void> => {
    await (await handler)?.close();
    await Promise.all([runs.close(), calls.close()]);
  };
  return {
    factory,
    async serveStdio() {
      const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
      const ended = new Promise<void>((resolve) => process.stdin.once('close', resolve).once('end', resolve));
      const handle = serveStdio(factory, { transport: new StdioServerTransport() });
      await ended;
      await handle.close();
    },
    async fetch(request) {
      handler ??= import('@modelcontextprotocol/server').then(({ createMcpHandler }) => createMcpHandler(factory));
      return (await handler).fetch(request);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Served {
  readonly agent: Agent;
  readonly runs: AgentRuns;
  /** What makes the calls of the offered tools, and their runs. */
  readonly calling: Agent;
  readonly calls: AgentRuns;
  readonly journal: Journal;
}

async function newServer(
  { agent, runs, calling, calls, journal }: Served,
  {
    name = agent.id,
    version = '0.1.0',
    description,
    prompts = [],
    resources = [],
    blobs,
    journal: given,
  }: McpServerOptions,
): Promise<McpServer> {
  const sdk = await import('@modelcontextprotocol/server');
  const capabilities = {
    tools: {},
    resources: {},
    prompts: {},
    completions: {},
    logging: {},
    extensions: { [TASKS_EXTENSION]: {} },
  };
  const made = new sdk.McpServer(
    { name, version },
    {
      capabilities,
      ...(description === undefined ? {} : { instructions: description }),
      inputRequired: { maxRounds: 50 },
    },
  );
  // JSON Schema is offered as it is: the wrapper around this would want schemas of a library.
  const { server } = made;
  server.setRequestHandler('tools/list', () => ({
    tools: [...toolsOf(agent, description), ...listed(calling)] as never,
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    try {
      const args = (params.arguments ?? {}) as JsonObject;
      const capabilities = capabilitiesOf(server, context);
      const isKept = given !== undefined;
      const done = calling.tools.has(params.name)
        ? callTool(params.name, args, { runs: calls, context, sdk, capabilities, blobs, isKept })
        : call(params.name, args, { runs, context, sdk, capabilities });
      return (await done) as never;
    } catch (error) {
      if (error instanceof sdk.ProtocolError) throw error;
      return { content: [{ type: 'text', text: problemText(error) }], isError: true };
    }
  });
  offerResources(server, { agent, runs, journal, resources }, sdk);
  offerPrompts(server, prompts, sdk);
  offerTasks(server, runs, sdk, shown);
  return made;
}

const toolsOf = (agent: Agent, description: string | undefined): readonly object[] => [
  {
    name: 'run',
    title: `Run ${agent.id}`,
    description:
      `${description ?? `Has the agent ${agent.id} do a task.`} Give it the whole task. It answers when it is done, or with ` +
      '"wait": false at once; ask for its status then. With a session it goes on with what was said there.',
    inputSchema: {
      type: 'object',
      properties: {
        prompt: { type: 'string', description: 'The task, with all that the agent has to know.' },
        ...SESSION_ARGUMENT,
        wait: { type: 'boolean', description: 'Whether to wait for the end. Default true.' },
      },
      required: ['prompt'],
      additionalProperties: false,
    },
    outputSchema: STATE_SCHEMA,
  },
  {
    name: 'status',
    title: 'How a session is',
    description: 'Whether a session runs, waits for somebody or is idle, and what the agent said last.',
    inputSchema: { type: 'object', properties: SESSION_ARGUMENT, required: ['session'], additionalProperties: false },
    outputSchema: STATE_SCHEMA,
    annotations: { readOnlyHint: true },
  },
  {
    name: 'cancel',
    title: 'End a run',
    description: 'Ends what a session is doing, or waits for.',
    inputSchema: { type: 'object', properties: SESSION_ARGUMENT, required: ['session'], additionalProperties: false },
    outputSchema: STATE_SCHEMA,
  },
];

type Sdk = typeof import('@modelcontextprotocol/server');

interface Asked {
  readonly runs: AgentRuns;
  readonly context: ServerContext;
  readonly sdk: Sdk;
  readonly capabilities: JsonObject;
}

async function call(name: string, args: JsonObject, request: Asked): Promise<object> {
  const { runs, context, sdk, capabilities } = request;
  const mayAsk = capabilities['elicitation'] !== undefined;
  const id = textIn(args, 'session');
  if (name === 'status' || name === 'cancel') {
    if (id === undefined) throw new TreadleError('invalid_definition', 'session is missing: the id of a session.');
    if (name === 'cancel') await (await runs.session(id)).abort('The MCP client cancelled it.');
    return shown(await runs.state(id));
  }
  if (name !== 'run') throw new sdk.ProtocolError(-32602, `There is no tool ${name}.`);
  const prompt = textIn(args, 'prompt');
  if (prompt === undefined) throw new TreadleError('empty_prompt', 'prompt is missing: the task, as text.');
  const again = await resumed(request);
  if (again) {
    const result = await again.follow();
    const session = again.session;
    return result === null
      ? (asking(request, session) ?? shown(await runs.state(session.id)))
      : ((result.status === 'paused' && mayAsk ? asking(request, session) : null) ??
          shown(runs.result(session, result)));
  }
  const session = await runs.session(id);
  // A client that can't ask gets what it is waited for as an answer.
  if (mayAsk && takesTasks(capabilities) && args['wait'] !== false) {
    return beginTask(session, () => session.prompt(prompt));
  }
  const run = session.prompt(prompt);
  if (args['wait'] === false) {
    run.result.catch(() => {});
    return shown({ session: session.id, status: 'running', text: '', pending: [] });
  }
  const result = await runs.follow(session, run, context);
  return (
    (result.status === 'paused' && mayAsk ? asking(request, session) : null) ?? shown(runs.result(session, result))
  );
}

/** Makes a call of an offered tool: a run of its own, which asks the client's user where the agent would ask somebody. */
async function callTool(
  name: string,
  args: JsonObject,
  request: Asked & { readonly blobs: Blobs | undefined; readonly isKept: boolean },
): Promise<object> {
  const { runs, context, sdk, capabilities, blobs, isKept } = request;
  const again = await resumed(request);
  const session = again?.session ?? (await runs.session(undefined));
  const run = again ? await again.follow() : await runs.follow(session, session.prompt(promptFor(name, args)), context);
  const question = asking(request, session);
  if (question && capabilities['elicitation'] !== undefined) return question;
  if (question) await session.abort('The MCP client can ask nobody.');
  const result = await resultIn(session, run, blobs);
  if (!isKept) await runs.remove(session);
  if (!question) return result;
  throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { elicitation: {} } });
}

/** The question that a session waits with, for the client's user; null when there is none. */
function asking({ sdk }: Asked, session: Session): object | null {
  const question = session.pending.find(({ approvalId }) => approvalId !== undefined);
  if (!question) return null;
  return sdk.inputRequired({
    requestState: JSON.stringify({ session: session.id, question: question.approvalId }),
    inputRequests: { [keyOf(question)]: sdk.inputRequired.elicit(formOf(question) as never) },
  });
}

interface Resumed {
  readonly session: Session;
  /** Gives the answer, and follows the run. Null where there is nothing to answer, or no answer. */
  follow(): Promise<RunResult | null>;
}

/** What a request goes on with that brings an answer; null for a first request. @throws ProtocolError for a changed state. */
async function resumed({ runs, context, sdk }: Asked): Promise<Resumed | null> {
  const state: unknown = context.mcpReq.requestState();
  if (state === undefined) return null;
  const [, id, approvalId] =
    (typeof state === 'string' && /^\{"session":"([\w-]+)","question":"([\w-]+)"\}$/.exec(state)) || [];
  if (id === undefined || !(await runs.isOurs(id))) {
    throw new sdk.ProtocolError(-32602, 'requestState is not as this server gave it.');
  }
  const session = await runs.session(id);
  return {
    session,
    async follow() {
      const question = session.pending.find((each) => each.approvalId === approvalId);
      const answer = question && context.mcpReq.inputResponses?.[keyOf(question)];
      if (!question || answer === undefined) return null;
      return runs.follow(session, answered(session, question, answer), context);
    },
  };
}

function textIn(args: JsonObject, name: string): string | undefined {
  const value: JsonValue | undefined = args[name];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function shown(state: RunState): object {
  const { status, text, session, pending } = state;
  const about = status === 'completed' || status === 'idle' ? [] : [`[${status}, session ${session}]`];
  const waits = pending.map((call) => `Waits for an answer about ${JSON.stringify(call)}.`);
  const words = [...about, ...waits, text].filter((part) => part !== '').join('\n');
  const isError = !['completed', 'idle', 'running', 'paused'].includes(status);
  return {
    content: [{ type: 'text', text: words === '' ? `[${status}]` : words }],
    structuredContent: { ...state },
    ...(isError ? { isError } : {}),
  };
}
