import { errorText, type JsonObject, type Run, type Session } from '@treadle/core';

import { realpath } from 'node:fs/promises';

import type { KeyGuard } from '../cli/asking/keys.ts';
import type { CliIo } from '../cli/io.ts';
import { openBlobs, unsavedJournal, type CliParts } from '../cli/parts.ts';
import { buildAgent } from './agent.ts';
import type { Arguments } from './arguments.ts';
import { Refused, type Answer, type Channel } from './channel.ts';
import { createConversation, openFor, type ConversationParts } from './conversation.ts';
import { initMessage, initializeAnswer } from './init.ts';
import { readOptions } from './options.ts';
import type { Opened } from './opened.ts';
import { answerRequest } from './requests.ts';
import { uuidOf } from './wire/ids.ts';
import { messageProjection } from './wire/messages.ts';
import { resultUsage } from './wire/usage.ts';
import { UNKNOWN_USAGE } from '@treadle/core/model';

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
    const sdk = await buildAgent({ io, folder, options, channel, guard, loadModel, note, sessionId: () => sessionId });
    const session = await openFor(options, sdk, kept, folder);
    sessionId = session.id;
    const projection = messageProjection({
      sessionId,
      folder,
      init: () => initMessage(opened),
      models: (name) => sdk.agent.models.find(({ id }) => id === name) ?? {},
      partial: options.partial,
      hooks: options.hookEvents,
      replay: options.replay,
    });
    const opened: Opened = { session, sdk, options, kept, folder, projection };
    for await (const event of journal.read(sessionId, 1)) projection.recall(event);
    session.subscribe((event) => {
      if (event.type === 'warning') note(`${event.code}: ${event.message}`);
      emit(projection.take(event));
    });
    return opened;
  }

  const opened = (): Promise<Opened> => (opening ??= open());

  const conversation = createConversation(async (): Promise<ConversationParts> => {
    const { session, options, projection } = await opened();
    return {
      session,
      budget: () => (options.maxCost === undefined ? null : options.maxCost - projection.spent()),
      answer: (one) => answerPending(one),
      failed,
    };
  });

  /** Nobody has been asked what a run waits for but the client. */
  async function answerPending(session: Session): Promise<Run> {
    const [call] = session.pending;
    if (call === undefined || call.type === 'client_tool') return session.resume();
    return session.reject(call, 'Nobody can be asked.');
  }

  /** The end of a turn that no run has told of. */
  function failed(message: string): void {
    count += 1;
    emit([
      {
        type: 'result',
        subtype: 'error_during_execution',
        is_error: true,
        duration_ms: 0,
        duration_api_ms: 0,
        num_turns: 0,
        stop_reason: null,
        terminal_reason: 'failed',
        total_cost_usd: 0,
        usage: resultUsage(UNKNOWN_USAGE),
        modelUsage: {},
        permission_denials: [],
        errors: [guard.text(message)],
        uuid: uuidOf(sessionId, 'failed', count),
        session_id: sessionId,
      },
    ]);
  }

  return {
    user(line: JsonObject): void {
      // A client that doesn't say what it wants gets what the arguments say.
      initialized.resolve({});
      conversation.add(line);
    },
    async answer(request: JsonObject): Promise<Answer> {
      const { subtype } = request;
      if (subtype === 'initialize') {
        initialized.resolve(request);
        return { ...(await initializeAnswer(await opened(), request)), beside: { pending_permission_requests: [] } };
      }
      if (typeof subtype !== 'string') throw new Refused('A control request needs a subtype.');
      return { response: await answerRequest(subtype, request, { opened, conversation, loadModel, io }) };
    },
    /** Ends what is under way. */
    async stop(reason: string): Promise<void> {
      conversation.drop();
      channel.close();
      if (opening === null) return;
      const { session } = await opening;
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
    const { session, kept } = await opening;
    await session.close({ abort: true, reason: 'other' });
    await kept.journal.close();
    opening = null;
  }
}
