import { isDurable, openSession, type JsonObject, type Session, type Tool } from '@treadle/core';
import { hasEnded } from '@treadle/core/tools';

import { realpath } from 'node:fs/promises';

import { keyGuard } from '../cli/asking/keys.ts';
import type { CliIo } from '../cli/io.ts';
import { openBlobs, unsavedJournal, type CliParts } from '../cli/parts.ts';
import { buildAgent, type SdkAgent } from './agent/agent.ts';
import { serversFor } from './agent/mcp.ts';
import { modelName, switchedModel } from './agent/models.ts';
import { pluginsFor } from './agent/plugins.ts';
import type { Arguments } from './arguments.ts';
import type { ClientServers } from './client/servers.ts';
import type { Channel } from './lines/channel.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { readOptions } from './options.ts';
import { keptWith, openFor, type Kept } from './resume.ts';
import { initMessage } from './requests/init.ts';
import type { Opened } from './requests/opened.ts';
import { modelOf, readSources, withVariables, type Sources } from './settings/sources.ts';
import { transcriptFile } from './transcript-file.ts';
import { messageProjection } from './wire/messages.ts';
import { wireMode } from './wire/permissions.ts';

/** What a session is opened with. */
export interface OpeningParts {
  readonly args: Arguments;
  readonly io: CliIo;
  readonly parts: CliParts;
  readonly channel: Channel;
  readonly clients: ClientServers;
  readonly emit: (messages: readonly JsonObject[]) => void;
  readonly note: (text: string) => void;
}

/** Opens the session that the arguments mean, with the agent that the client asks for. */
export async function openAll(given: OpeningParts, initialize: JsonObject): Promise<Opened> {
  const { channel, clients, emit } = given;
  const options = await readOptions(given.args, initialize, given.note);
  const folder = await realpath(given.io.cwd);
  const flags: Opened['flags'] = { settings: {}, inTurn: oneAtATime() };
  const sourcesWith = (own: JsonObject) =>
    readSources(folder, given.io, {
      sources: options.sources,
      given: [...options.settings, { where: 'apply_flag_settings', settings: own }],
      root: options.configRoot,
      note: given.note,
    });
  const sources = await sourcesWith({});
  // What settings add to the environment is for models, servers and hooks. Where sessions are kept is not theirs to say.
  const io = { ...given.io, env: withVariables(given.io.env, sources.settings) };
  const guard = await keyGuard(io.env);
  const note = (text: string): void => given.note(guard.text(text));
  const loadModel = async (name: string) =>
    guard.model(await given.parts.model(await modelName(name === '' ? undefined : name, io.env), io.env));
  const kept: Kept = {
    journal: guard.journal(await (options.save ? given.parts.journal(given.io) : unsavedJournal())),
    blobs: options.save ? await openBlobs(given.io) : null,
  };
  const transcript = options.save ? transcriptFile(given.io, folder) : null;
  const plugins = await pluginsFor(options, note);
  const model = switchedModel(await loadModel(options.model ?? modelOf(sources.settings)));
  const pool = await serversFor({ io, folder, options, clients, plugins, isTrusted: sources.isTrusted, note });
  let session: Session | null = null;
  const sessionId = (): string => session?.id ?? '';
  let sdk: SdkAgent;
  /** Whether the session goes on with another agent, which is neither an end nor a beginning. */
  let isMoving = false;
  let hasRun = false;
  const build = (by: Sources, tools: readonly Tool[]): Promise<SdkAgent> =>
    buildAgent({
      ...{ io, folder, options, channel, guard, loadModel, note, plugins, tools, model, sessionId, sources: by },
      transcriptPath: () => transcript?.path(sessionId()) ?? '',
      isMoving: () => isMoving,
      isBegun: hasRun,
    });
  /** What the session's agent was made with. */
  let taken = { tools: pool.tools, settings: flags.settings };
  sdk = await build(sources, taken.tools);
  let now = await openFor(options, sdk, kept, folder);
  session = now;
  const told = { mode: wireMode(sdk.agent.permissions.mode) };
  const projection = messageProjection({
    sessionId: now.id,
    folder,
    init: () => initMessage({ folder, sdk, pool, told }),
    models: (name) => sdk.agent.models.find(({ id }) => id === name) ?? {},
    partial: options.partial,
    hooks: options.hookEvents,
  });
  for await (const event of kept.journal.read(now.id, 1)) projection.recall(event);
  let unsubscribe = subscribe();
  let isOpen = true;

  function subscribe(): () => void {
    return now.subscribe((event) => {
      if (event.type === 'warning') note(`${event.code}: ${event.message}`);
      if (event.type === 'run_started') hasRun = true;
      const messages = projection.take(event);
      const at = isDurable(event) ? event.at : Date.now();
      for (const message of messages) {
        const row = transcript?.add(now.id, message, at);
        if (row && options.mirror) emit([row]);
      }
      emit(messages.filter(({ isReplay }) => isReplay !== true || options.replay));
    });
  }

  /** Between turns, and while nothing goes on in the background: that would end with the session's old agent. */
  async function refresh(): Promise<void> {
    const wanted = { tools: pool.tools, settings: flags.settings };
    if (isOpen) {
      const isSame = wanted.settings === taken.settings && wanted.tools.length === taken.tools.length;
      if (isSame && wanted.tools.every((tool, index) => tool === taken.tools[index])) return;
      if (now.status !== 'idle' || now.tasks.list().some(({ status }) => !hasEnded(status))) return;
    }
    const next = await build(await sourcesWith(wanted.settings), wanted.tools);
    isMoving = true;
    try {
      // A try that fails below leaves it closed: the next turn opens it again.
      isOpen = false;
      unsubscribe();
      await now.close();
      now = await openSession(next.agent, now.id, keptWith(kept));
      isOpen = true;
    } finally {
      isMoving = false;
    }
    // What has changed meanwhile is taken before the next turn.
    [sdk, taken, session] = [next, wanted, now];
    unsubscribe = subscribe();
  }

  return {
    get session() {
      return now;
    },
    get sdk() {
      return sdk;
    },
    ...{ options, kept, folder, projection, told, pool, flags, io, guard, loadModel, refresh },
    clients,
    async agentWith(changed) {
      const by = await sourcesWith(changed);
      const { agent } = await build(by, pool.tools);
      return { agent, settings: by.settings };
    },
  };
}
