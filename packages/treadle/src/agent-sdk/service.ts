import { errorText, isDurable, type JsonObject } from '@treadle/core';

import { realpath } from 'node:fs/promises';

import type { KeyGuard } from '../cli/asking/keys.ts';
import type { CliIo } from '../cli/io.ts';
import { openBlobs, unsavedJournal, type CliParts } from '../cli/parts.ts';
import { buildAgent } from './agent/agent.ts';
import type { Arguments } from './arguments.ts';
import { Refused, type Answer, type Channel } from './lines/channel.ts';
import { answerPending } from './client/pending.ts';
import { clientServers } from './client/servers.ts';
import { createConversation, openFor, type ConversationParts } from './conversation.ts';
import { initMessage, initializeAnswer } from './requests/init.ts';
import { readOptions } from './options.ts';
import type { Opened } from './requests/opened.ts';
import { answerRequest } from './requests/requests.ts';
import { transcriptFile } from './transcript-file.ts';
import { uuidOf } from './wire/ids.ts';
import { messageProjection } from './wire/messages.ts';
import { wireMode } from './wire/permissions.ts';
import { resultUsage } from './wire/usage.ts';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import { expandCommand } from '@treadle/skills';

/** What the service works with. */
export interface ServiceParts {
  readonly args: Arguments;
  readonly io: CliIo;
  readonly parts: CliParts;
  readonly guard: KeyGuard;
  readonly channel: Channel;
  readonly write: (message: JsonObject) => void;
  readonly note: (text: string) => void;
}

/** One session, as a client drives it. */
export function createService(given: ServiceParts) {
  const { args, io, channel, guard, note, write } = given;
  const initialized = Promise.withResolvers<JsonObject>();
  const clients = clientServers(channel);
  let opening: Promise<Opened> | null = null;
  let sessionId = '';
  let lastIsError = false;
  let count = 0;

  const emit = (messages: readonly JsonObject[]): void => {
    for (const message of messages) {
      if (message['type'] === 'result') lastIsError = message['is_error'] === true;
      write(message);
    }
  };

  const loadModel = async (name: string) => guard.model(await given.parts.model(name, io.env));

  async function open(): Promise<Opened> {
    const options = await readOptions(args, await initialized.promise, note);
    const folder = await realpath(io.cwd);
    const journal = guard.journal(await (options.save ? given.parts.journal(io) : unsavedJournal()));
    const kept = { journal, blobs: options.save ? await openBlobs(io) : null };
    const parts = { io, folder, options, channel, clients, guard, loadModel, note };
    const transcript = options.save ? transcriptFile(io, folder) : null;
    const sdk = await buildAgent({
      ...parts,
      sessionId: () => sessionId,
      transcriptPath: () => transcript?.path(sessionId) ?? '',
    });
    const session = await openFor(options, sdk, kept, folder);
    sessionId = session.id;
    const told = { mode: wireMode(sdk.agent.permissions.mode) };
    const projection = messageProjection({
      sessionId,
      folder,
      init: () => initMessage({ folder, sdk, told }),
      models: (name) => sdk.agent.models.find(({ id }) => id === name) ?? {},
      partial: options.partial,
      hooks: options.hookEvents,
    });
    const opened: Opened = { session, sdk, options, kept, folder, projection, told };
    for await (const event of journal.read(sessionId, 1)) projection.recall(event);
    session.subscribe((event) => {
      if (event.type === 'warning') note(`${event.code}: ${event.message}`);
      const messages = projection.take(event);
      const at = isDurable(event) ? event.at : Date.now();
      for (const message of messages) transcript?.add(sessionId, message, at);
      emit(messages.filter(({ isReplay }) => isReplay !== true || options.replay));
    });
    return opened;
  }

  let isStopped = false;
  /** Without a session there is nothing to say: the process ends. */
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});

  function opened(): Promise<Opened> {
    if (isStopped) return Promise.reject(new Error('The session is over.'));
    if (opening === null) {
      opening = open();
      opening.catch(broken.reject);
    }
    return opening;
  }

  const conversation = createConversation(async (): Promise<ConversationParts> => {
    const { session, sdk, options, projection } = await opened();
    return {
      session,
      budget: () => (options.maxCost === undefined ? null : options.maxCost - projection.spent()),
      answer: (one) => answerPending(channel, one),
      failed: (message) => ended({ subtype: 'error_during_execution', is_error: true, errors: [guard.text(message)] }),
      done: (message) => ended({ subtype: 'success', is_error: false, result: message }),
      expand: (text) => expandCommand({ commands: sdk.commandSet }, text),
    };
  });

  /** The end of a turn that no run has told of. */
  function ended(how: JsonObject): void {
    count += 1;
    emit([
      {
        type: 'result',
        ...how,
        duration_ms: 0,
        duration_api_ms: 0,
        num_turns: 0,
        stop_reason: null,
        terminal_reason: how['is_error'] === true ? 'failed' : 'completed',
        total_cost_usd: 0,
        usage: resultUsage(UNKNOWN_USAGE),
        modelUsage: {},
        permission_denials: [],
        uuid: uuidOf(sessionId, 'ended', count),
        session_id: sessionId,
      },
    ]);
  }

  return {
    /** Rejects when the session can't be opened. */
    broken: broken.promise,
    user(line: JsonObject): void {
      // A client that doesn't say what it wants gets what the arguments say.
      initialized.resolve({});
      conversation.add(line);
    },
    async answer(request: JsonObject): Promise<Answer> {
      const { subtype } = request;
      if (subtype === 'initialize') {
        initialized.resolve(request);
        return initializeAnswer(await opened(), request);
      }
      if (typeof subtype !== 'string') throw new Refused('A control request needs a subtype.');
      return { response: await answerRequest(subtype, request, { opened, conversation, clients, loadModel, io }) };
    },
    /** Ends what is under way. */
    async stop(reason: string): Promise<void> {
      isStopped = true;
      conversation.drop();
      channel.close();
      const { session } = (await opening?.catch(() => null)) ?? {};
      if (!session) return;
      await session.abort(reason).catch((error: unknown) => note(errorText(error)));
      await close();
    },
    /** Waits for what was said to be answered. False when the last turn came to an error. */
    async finish(): Promise<boolean> {
      await conversation.done();
      await close();
      return !lastIsError;
    },
  };

  async function close(): Promise<void> {
    if (opening === null) return;
    const { session, sdk, kept } = await opening;
    await session.close({ abort: true, reason: 'other' });
    await sdk.servers?.close();
    await kept.journal.close();
    opening = null;
  }
}
