import {
  agent,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type AgentApp,
  type AgentContext,
  type ClientCapabilities,
  type McpServer,
} from '@agentclientprotocol/sdk';
import { sessionsOf } from '@treadle/core';
import { randomIds } from '@treadle/core/ports';
import type { McpServerConfig } from '@treadle/mcp';

import { isAbsolute } from 'node:path';

import { requestError } from './errors.ts';
import type { AcpHost } from './host.ts';
import { EditorSession } from './session.ts';

/** The agent's side of a connection. */
export interface AcpServer {
  readonly app: AgentApp;
  /** Lets go of all sessions, once the client is gone. */
  close(): Promise<void>;
}

/** What `session/new`, `session/load` and `session/resume` have in common. */
interface Opening {
  readonly cwd: string;
  readonly mcpServers?: readonly McpServer[];
  readonly additionalDirectories?: readonly string[];
}

const PAGE = 50;

/** Keys that are there already. */
const KEYS = {
  id: 'keys',
  name: 'Keys of this computer',
  description: 'Takes the keys of the environment, and those that treadle login keeps.',
};

/** The client runs this program once more, in a terminal. */
const LOGIN = {
  type: 'terminal' as const,
  id: 'login',
  name: 'treadle login',
  description: 'Asks for a key, and keeps it.',
  args: ['--login'],
};

/** An agent for one client of the Agent Client Protocol. All it knows of sessions is their API and their events. */
export function acpServer(host: AcpHost): AcpServer {
  const sessions = new Map<string, EditorSession>();
  let capabilities: ClientCapabilities = {};

  const known = (sessionId: string): EditorSession => {
    const session = sessions.get(sessionId);
    if (!session) throw RequestError.sessionNotFound(sessionId);
    return session;
  };
  /** A handler whose errors are the protocol's. */
  const answering =
    <Context extends { readonly params: object }, Answer>(handler: (context: Context) => Promise<Answer>) =>
    async (context: Context): Promise<Answer> => {
      try {
        return await handler(context);
      } catch (error) {
        const { sessionId } = context.params as { readonly sessionId?: string };
        throw requestError(error, sessionId);
      }
    };
  const requestFor = async (sessionId: string, params: Opening, context: AgentContext) => {
    const { cwd, mcpServers = [], additionalDirectories = [] } = params;
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, 'cwd must be an absolute path');
    const relative = additionalDirectories.find((path) => !isAbsolute(path));
    if (relative !== undefined)
      throw RequestError.invalidParams({ additionalDirectories }, `${relative} must be an absolute path`);
    const folder = await host.realFolder(cwd);
    const directories = await Promise.all(additionalDirectories.map((path) => host.realFolder(path)));
    const servers = Object.fromEntries(mcpServers.map((server) => [server.name, serverConfig(server)]));
    return { sessionId, folder, directories, servers, client: { context, capabilities } };
  };
  const opened = (session: EditorSession) => {
    sessions.set(session.id, session);
    // After the answer: a client knows no session before.
    setImmediate(() => void session.announceCommands().catch(() => {}));
    return session.state;
  };
  const reopened = async (params: Opening & { readonly sessionId: string }, context: AgentContext, replay: boolean) => {
    const { sessionId } = params;
    const folder = await folderOfSession(host, sessionId);
    const request = await requestFor(sessionId, params, context);
    if (folder !== request.folder)
      throw RequestError.invalidParams({ cwd: params.cwd }, `the session works in ${folder ?? 'no folder'}`);
    await sessions.get(sessionId)?.close();
    sessions.delete(sessionId);
    return opened(await EditorSession.open(host, request, replay));
  };

  const app = agent({ name: 'treadle' })
    .onRequest(methods.agent.initialize, ({ params }) => {
      capabilities = params.clientCapabilities ?? {};
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: 'treadle', title: 'Treadle', version: host.version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, audio: true, embeddedContext: true },
          mcpCapabilities: { http: true, sse: true },
          sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, additionalDirectories: {} },
        },
        authMethods: [KEYS, ...(capabilities.auth?.terminal === true ? [LOGIN] : [])],
      };
    })
    .onRequest(
      methods.agent.authenticate,
      answering(async ({ params: { methodId } }) => {
        if (methodId !== KEYS.id) throw RequestError.invalidParams({ methodId }, `there is no method ${methodId} here`);
        const problem = await host.loginProblem();
        if (problem !== null) throw RequestError.authRequired({ methodId }, problem);
        return {};
      }),
    )
    .onRequest(
      methods.agent.session.new,
      answering(async ({ params, client }) => {
        const request = await requestFor(randomIds.create('session'), params, client);
        return { sessionId: request.sessionId, ...opened(await EditorSession.create(host, request)) };
      }),
    )
    .onRequest(
      methods.agent.session.load,
      answering(async ({ params, client }) => reopened(params, client, true)),
    )
    .onRequest(
      methods.agent.session.resume,
      answering(async ({ params, client }) => reopened(params, client, false)),
    )
    .onRequest(
      methods.agent.session.list,
      answering(async ({ params }) => listed(host, params)),
    )
    .onRequest(
      methods.agent.session.prompt,
      answering(async ({ params, signal }) => known(params.sessionId).prompt(params.prompt, signal)),
    )
    .onRequest(
      methods.agent.session.setMode,
      answering(async ({ params }) => {
        await known(params.sessionId).set('mode', params.modeId);
        return {};
      }),
    )
    .onRequest(
      methods.agent.session.setConfigOption,
      answering(async ({ params }) => {
        const session = known(params.sessionId);
        await session.set(params.configId, params.value);
        return { configOptions: session.state.configOptions };
      }),
    )
    .onRequest(
      methods.agent.session.close,
      answering(async ({ params }) => {
        const session = known(params.sessionId);
        sessions.delete(session.id);
        await session.close();
        return {};
      }),
    )
    .onRequest(
      methods.agent.session.delete,
      answering(async ({ params: { sessionId } }) => {
        await sessions.get(sessionId)?.close();
        sessions.delete(sessionId);
        await sessionsOf(host.journal).remove(sessionId);
        return {};
      }),
    )
    .onNotification(methods.agent.session.cancel, async ({ params }) => sessions.get(params.sessionId)?.cancel());

  return {
    app,
    async close() {
      await Promise.all([...sessions.values()].map((session) => session.leave()));
    },
  };
}

/** The folder that a session was started in; undefined for one that isn't of a folder. */
async function folderOfSession(host: AcpHost, sessionId: string): Promise<string | undefined> {
  for await (const event of host.journal.read(sessionId, 1)) {
    if (event.type !== 'session_created' || event.agentId === undefined) return undefined;
    return host.folderOf(event.agentId);
  }
  return undefined;
}

/** A page of the sessions that editors and the command line have begun, the latest first. */
async function listed(host: AcpHost, { cwd, cursor }: { cwd?: string | null; cursor?: string | null }) {
  const agentId = cwd ? host.agentIdOf(await host.realFolder(cwd)) : undefined;
  const page = await host.journal.list({
    limit: PAGE,
    ...(agentId === undefined ? {} : { agentId }),
    ...(cursor ? { cursor } : {}),
  });
  return {
    sessions: page.sessions.flatMap(({ sessionId, agentId: of, updatedAt, title, firstPrompt }) => {
      const folder = of === undefined ? undefined : host.folderOf(of);
      if (folder === undefined) return [];
      const name = title ?? firstPrompt;
      const at = new Date(updatedAt).toISOString();
      return [{ sessionId, cwd: folder, updatedAt: at, ...(name === undefined ? {} : { title: name }) }];
    }),
    ...(page.cursor === undefined ? {} : { nextCursor: page.cursor }),
  };
}

/** A server of the client's, as ours are written. */
function serverConfig(server: McpServer): McpServerConfig {
  if ('command' in server) {
    const { command, args, env } = server;
    return { command, args, env: Object.fromEntries(env.map(({ name, value }) => [name, value])) };
  }
  const { type, url, headers } = server;
  return { type, url, headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])) };
}
