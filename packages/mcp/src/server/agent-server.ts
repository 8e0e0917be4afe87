import type { McpHttpHandler, McpServer, McpServerFactory, ServerContext } from '@modelcontextprotocol/server';
import { memoryJournal, TreadleError } from '@treadle/core';
import { transcript, transcriptMarkdown } from '@treadle/core/projections';
import type { Agent, Blobs, DurableEvent, JsonObject, Journal, JsonValue } from '@treadle/core';

import { answered, AgentRuns, formOf, problemText } from './agent-runs.ts';
import type { RunState } from './agent-runs.ts';
import { TASKS_EXTENSION } from '../client/task-results.ts';
import { beginTask, capabilitiesOf, offerTasks, takesTasks } from './tasks.ts';

/** A prompt that the server offers. */
export interface AgentPrompt {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
  /** `{{name}}` stands for an argument; or what makes the text of the arguments. */
  readonly text: string | ((values: Readonly<Record<string, string | undefined>>) => string);
}

/** Settings of {@link mcpServer}. */
export interface McpServerOptions {
  /** Where sessions are kept. Default: in memory. */
  readonly journal?: Journal;
  readonly blobs?: Blobs;
  /** What clients call it. Default: the agent's id. */
  readonly name?: string;
  readonly version?: string;
  /** What the agent is good for: models choose it by this. */
  readonly description?: string;
  readonly prompts?: readonly AgentPrompt[];
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

const SESSIONS = 'treadle://sessions/';
const PAGE = 100;

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
  const { journal = memoryJournal(), blobs, prompts = [] } = options;
  const runs = new AgentRuns({ agent, journal, blobs });
  const factory: McpServerFactory = async () => newServer(agent, runs, journal, options, prompts);
  let handler: Promise<McpHttpHandler> | null = null;
  const close = async (): Promise<void> => {
    await (await handler)?.close();
    await runs.close();
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

async function newServer(
  agent: Agent,
  runs: AgentRuns,
  journal: Journal,
  { name = agent.id, version = '0.1.0', description }: McpServerOptions,
  prompts: readonly AgentPrompt[],
): Promise<McpServer> {
  const sdk = await import('@modelcontextprotocol/server');
  const capabilities = {
    tools: {},
    resources: {},
    prompts: {},
    completions: {},
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
  server.setRequestHandler('tools/list', () => ({ tools: toolsOf(agent, description) as never }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    try {
      const args = (params.arguments ?? {}) as JsonObject;
      return (await call(params.name, args, runs, context, sdk, capabilitiesOf(server, context))) as never;
    } catch (error) {
      return { content: [{ type: 'text', text: problemText(error) }], isError: true };
    }
  });
  server.setRequestHandler('resources/list', async ({ params }) => {
    const cursor = params?.cursor;
    const page = await journal.list({ agentId: agent.id, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const resources = page.sessions.map(({ sessionId, title, firstPrompt, updatedAt }) => ({
      uri: SESSIONS + sessionId,
      name: title ?? firstPrompt ?? sessionId,
      mimeType: 'text/markdown',
      annotations: { lastModified: new Date(updatedAt).toISOString() },
    }));
    return { resources, ...(page.cursor === undefined ? {} : { nextCursor: page.cursor }) };
  });
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        uriTemplate: `${SESSIONS}{session}`,
        name: 'session',
        description: 'What happened in a session.',
        mimeType: 'text/markdown',
      },
    ],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const id = uri.startsWith(SESSIONS) ? uri.slice(SESSIONS.length) : '';
    if (id === '' || !(await runs.isOurs(id))) throw new sdk.ResourceNotFoundError(uri);
    const events: DurableEvent[] = [];
    for await (const event of journal.read(id, 1)) events.push(event);
    return { contents: [{ uri, mimeType: 'text/markdown', text: transcriptMarkdown(transcript(events)) }] };
  });
  offerPrompts(server, prompts, sdk);
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument } }) => {
    if (ref.type !== 'ref/resource') return { completion: { values: [] } };
    const { sessions } = await journal.list({ agentId: agent.id, limit: PAGE });
    const ids = sessions.map(({ sessionId }) => sessionId);
    return { completion: { values: ids.filter((id) => id.startsWith(argument.value)) } };
  });
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

async function call(
  name: string,
  args: JsonObject,
  runs: AgentRuns,
  context: ServerContext,
  sdk: Sdk,
  capabilities: JsonObject,
): Promise<object> {
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
  const again = resumedSession(context);
  const session = await runs.session(again ?? id);
  const answer = context.mcpReq.inputResponses?.['answer'];
  const asked = (): object | null => {
    const question = mayAsk ? session.pending.find(({ approvalId }) => approvalId !== undefined) : undefined;
    return question
      ? sdk.inputRequired({
          requestState: JSON.stringify({ session: session.id }),
          inputRequests: { answer: sdk.inputRequired.elicit(formOf(question) as never) },
        })
      : null;
  };
  const question = again === null ? undefined : session.pending.find(({ approvalId }) => approvalId !== undefined);
  // Answered elsewhere meanwhile, or not answered at all.
  if (again !== null && !question) return shown(await runs.state(session.id));
  if (question && answer === undefined) return asked() ?? shown(await runs.state(session.id));
  // A client that can't ask gets what it is waited for as an answer.
  if (!question && mayAsk && takesTasks(capabilities) && args['wait'] !== false) {
    return beginTask(session, () => session.prompt(prompt));
  }
  const run = question ? answered(session, question, answer) : session.prompt(prompt);
  if (args['wait'] === false) {
    run.result.catch(() => {});
    return shown({ session: session.id, status: 'running', text: '', pending: [] });
  }
  const result = await runs.follow(session, run, context);
  return (result.status === 'paused' ? asked() : null) ?? shown(runs.result(session, result));
}

/** The session whose question a request brings the answer to; null for a first request. */
function resumedSession({ mcpReq }: ServerContext): string | null {
  const state: unknown = mcpReq.requestState();
  if (typeof state !== 'string') return null;
  const match = /^\{"session":"([\w-]+)"\}$/.exec(state);
  return match?.[1] ?? null;
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

function offerPrompts(server: McpServer['server'], prompts: readonly AgentPrompt[], sdk: Sdk): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: prompts.map(({ name, description, arguments: all = [] }) => ({
      name,
      description,
      arguments: all.map((argument) => ({ ...argument })),
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    const prompt = prompts.find(({ name }) => name === params.name);
    if (!prompt) throw new sdk.ProtocolError(-32602, `There is no prompt ${params.name}.`);
    const values: Readonly<Record<string, string | undefined>> = params.arguments ?? {};
    const missing = prompt.arguments?.find(({ name, required }) => required === true && values[name] === undefined);
    if (missing) throw new sdk.ProtocolError(-32602, `The argument ${missing.name} is missing.`);
    const text =
      typeof prompt.text === 'function'
        ? prompt.text(values)
        : prompt.text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '');
    return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
}
