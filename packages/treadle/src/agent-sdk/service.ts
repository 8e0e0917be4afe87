import { errorText, type JsonObject } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import { expandCommand } from '@treadle/skills';

import type { CliIo } from '../cli/io.ts';
import type { KeyGuard } from '../cli/asking/keys.ts';
import type { CliParts } from '../cli/parts.ts';
import type { Arguments } from './arguments.ts';
import { answerPending } from './client/pending.ts';
import { clientServers } from './client/servers.ts';
import { createConversation, type ConversationParts } from './conversation.ts';
import { Refused, type Answer, type Channel } from './lines/channel.ts';
import { openAll } from './opening.ts';
import { initializeAnswer } from './requests/init.ts';
import type { Opened } from './requests/opened.ts';
import { answerRequest } from './requests/requests.ts';
import { ResumeRejected } from './resume.ts';
import { uuidOf } from './wire/ids.ts';
import { resultUsage } from './wire/usage.ts';

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
  const { args, channel, guard, note, write } = given;
  const initialized = Promise.withResolvers<JsonObject>();
  /** What the session began with: all later ones change nothing. */
  let first: JsonObject | null = null;
  const begin = (request: JsonObject): void => {
    first ??= request;
    initialized.resolve(first);
  };
  const clients = clientServers(channel);
  let opening: Promise<Opened> | null = null;
  let lastIsError = false;
  let count = 0;

  const emit = (messages: readonly JsonObject[]): void => {
    for (const message of messages) {
      if (message['type'] === 'result') lastIsError = message['is_error'] === true;
      write(message);
    }
  };

  let isStopped = false;
  /** Without a session there is nothing to say: the process ends. */
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});

  function opened(): Promise<Opened> {
    if (isStopped) return Promise.reject(new Error('The session is over.'));
    if (opening === null) {
      opening = initialized.promise.then((request) => openAll({ ...given, clients, emit }, request));
      opening.catch((error: unknown) => {
        // The client looks for it in a result.
        if (error instanceof ResumeRejected)
          ended({ subtype: 'error_during_execution', is_error: true, errors: [error.message] }, args.text('resume'));
        broken.reject(error);
      });
    }
    return opening;
  }

  const conversation = createConversation(async (): Promise<ConversationParts> => {
    const now = await opened();
    const { options, projection, refresh } = now;
    const tell = (how: JsonObject): void => ended(how, now.session.id);
    return {
      get session() {
        return now.session;
      },
      refresh,
      budget: () => (options.maxCost === undefined ? null : options.maxCost - projection.spent()),
      answer: (one) => answerPending(channel, one),
      failed: (message) => tell({ subtype: 'error_during_execution', is_error: true, errors: [guard.text(message)] }),
      done: (message) => tell({ subtype: 'success', is_error: false, result: message }),
      expand: (text) => expandCommand({ commands: now.sdk.commandSet }, text),
    };
  });

  /** The end of a turn that no run has told of. */
  function ended(how: JsonObject, sessionId = ''): void {
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
      begin({});
      conversation.add(line);
    },
    async answer(request: JsonObject): Promise<Answer> {
      const { subtype } = request;
      if (subtype === 'initialize') {
        begin(request);
        return initializeAnswer(await opened(), request, JSON.stringify(request) === JSON.stringify(first));
      }
      begin({});
      if (typeof subtype !== 'string') throw new Refused('A control request needs a subtype.');
      return { response: await answerRequest(subtype, request, { opened, conversation, clients }) };
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
    const { session, pool, kept } = await opening;
    await session.close({ abort: true, reason: 'other' });
    await pool.close();
    await kept.journal.close();
    opening = null;
  }
}
