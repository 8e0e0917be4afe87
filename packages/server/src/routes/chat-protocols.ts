import { agUiFormat } from '../encoders/ag-ui.ts';
import { aiSdkFormat } from '../encoders/ai-sdk.ts';
import { errorField } from '../log.ts';
import { readAgUiRequest } from '../inputs/ag-ui.ts';
import { readAiSdkRequest } from '../inputs/ai-sdk.ts';
import { chatMessages } from '../operations/chat/messages.ts';
import { readReplies, wholeReply, type Reply } from '../operations/chat/replies.ts';
import { stateOf, takeTurn, type TakenTurn, type TurnOptions } from '../operations/chat/take-turn.ts';
import { cancelOpen } from '../operations/runs.ts';
import { oneRun } from '../streams/scope.ts';
import { accepted, type Route, type RouteCall } from './serving/route.ts';
import { openStream, type StreamRequest } from './stream.ts';

const ENUM = { whileRunning: ['queue', 'steer', 'cancel'], onClose: ['continue', 'cancel'] } as const;

export const chatQuery = {
  agent: { schema: { type: 'string' }, description: 'The agent of a conversation that is new. Default: the first.' },
  whileRunning: {
    schema: { type: 'string', enum: [...ENUM.whileRunning], default: 'queue' },
    description: 'What becomes of a message while a run works. `queue`: its run begins after that one.',
  },
  onClose: {
    schema: { type: 'string', enum: [...ENUM.onClose], default: 'continue' },
    description: '`cancel` ends the run when the client closes the stream: for chats that are never resumed.',
  },
} as const;

const chatTurn = {
  method: 'post',
  problems: ['empty_prompt', 'not_awaiting', 'conflict', 'invalid_messages'],
  query: chatQuery,
} as const;

const optionsOf = ({ query }: RouteCall): TurnOptions => ({
  agent: query['agent'] as string | undefined,
  whileRunning: ENUM.whileRunning.find((each) => each === query['whileRunning']) ?? 'queue',
});

type NewTurn = Extract<TakenTurn, { kind: 'new' }>;

/** The stream of new work. The client's Stop closes it, and ends the run where the request says so. */
function streamNew(call: RouteCall, sessionId: string, turn: NewTurn): Omit<StreamRequest, 'format'> {
  const { parts, query, inputKey } = call;
  const cancel = (): void => {
    const input = { type: 'cancel', inputSeq: turn.startedBy, reason: 'The client closed the stream.' } as const;
    parts.journal
      .post(sessionId, input, `${inputKey}:closed`, parts.clock.now())
      .then(() => parts.dispatcher.dispatch(sessionId))
      .catch((error: unknown) => parts.log('error', 'cancel_failed', { sessionId, error: errorField(error) }));
  };
  return {
    from: { seq: turn.afterSeq, message: null },
    scope: turn.scope,
    onGone: query['onClose'] === 'cancel' ? cancel : undefined,
  };
}

/** A reply again, from its beginning. */
async function streamReply(call: RouteCall, sessionId: string, reply: Reply, continues?: string | null) {
  const { seq } = await call.parts.states.of(sessionId);
  const joinedBy = reply.joined ? reply.inputSeq : null;
  return openStream(call, sessionId, {
    from: { seq: (reply.joined ? reply.beganSeq : reply.inputSeq) - 1, message: null },
    scope: wholeReply(reply, seq),
    ...(reply.runId !== null && { runId: reply.runId }),
    format: aiSdkFormat({ isTool: isToolOf(call), joinedBy, messageId: continues ?? null }),
  });
}

/** A tool that some agent of the server declares. */
const isToolOf =
  ({ parts }: RouteCall) =>
  (name: string): boolean =>
    [...parts.agents.values()].some(({ tools }) => tools.has(name));

/** A turn of a chat. The ids of its sessions begin with `prefix`. */
export async function aiSdkTurn(call: RouteCall, prefix = ''): Promise<Response> {
  const { continues, ...asked } = readAiSdkRequest(call.body);
  const turn = { ...asked, threadId: prefix + asked.threadId };
  const taken = await takeTurn(call, turn, optionsOf(call));
  if (taken.kind === 'known') return streamReply(call, turn.threadId, taken.reply, continues);
  const format = aiSdkFormat({ isTool: isToolOf(call), joinedBy: taken.joinedBy, messageId: continues });
  return openStream(call, turn.threadId, { ...streamNew(call, turn.threadId, taken), format });
}

export async function resumeAiSdk(call: RouteCall): Promise<Response> {
  const state = await stateOf(call.parts, call.sessionId);
  const startedBy = state?.run?.inputSeq;
  if (startedBy === undefined) return new Response(null, { status: 204 });
  const replies = await readReplies(call.parts, call.sessionId, startedBy);
  const reply = replies.findLast(({ runId, status }) => runId !== null && status === null);
  return reply ? streamReply(call, call.sessionId, reply) : new Response(null, { status: 204 });
}

/** A run of AG-UI. The ids of its sessions begin with `prefix`, which the client never sees. */
export async function agUiTurn(call: RouteCall, prefix = ''): Promise<Response> {
  const { request, ...asked } = readAgUiRequest(call.body);
  const threadId = prefix + asked.threadId;
  const turn = { ...asked, threadId };
  const taken = await takeTurn(call, turn, optionsOf(call));
  const state = await call.parts.states.of(threadId);
  const shared = state.shared ?? null;
  if (taken.kind === 'new') {
    const format = agUiFormat({ ...request, state: shared, joinedBy: taken.joinedBy });
    return openStream(call, threadId, { ...streamNew(call, threadId, taken), format });
  }
  const { runId, stopSeq, inputSeq } = taken.reply;
  const { seq } = state;
  const messages = await chatMessages(call.parts, state);
  // Joined in the middle: what was said before comes as a snapshot.
  return openStream(call, threadId, {
    from: { seq: stopSeq === null ? seq : stopSeq - 1, message: null },
    scope: oneRun(runId === null ? { inputSeq } : { runId }),
    ...(runId !== null && { runId }),
    format: agUiFormat({ ...request, messages, state: shared, isRejoined: true }),
  });
}

/** Ends the open run of a conversation. A conversation that isn't there has none. */
export async function stopChat(call: RouteCall): Promise<Response> {
  const isKnown = (await stateOf(call.parts, call.sessionId)) !== null;
  return accepted(isKnown ? await cancelOpen(call, call.sessionId, {}) : null);
}

const stopRoute = (path: string, id: string): Route => ({
  method: 'post',
  path,
  id,
  summary: 'Ends the open run of a conversation, and the messages that wait.',
  success: { status: 202, description: 'It is in the log, where there was something to end.' },
  handle: stopChat,
});

/** Endpoints that clients of other protocols speak to. A conversation of theirs is the session of its name. */
export const CHAT_PROTOCOL_ROUTES: readonly Route[] = [
  {
    ...chatTurn,
    path: '/v1/ai-sdk/chat',
    id: 'aiSdkChat',
    summary: 'A turn of a chat of the AI SDK: `DefaultChatTransport` posts here, and reads the stream.',
    success: { status: 200, description: 'A UI message stream, version 1.', contentType: 'text/event-stream' },
    handle: (call) => aiSdkTurn(call),
  },
  {
    method: 'get',
    path: '/v1/ai-sdk/chat/{sessionId}/stream',
    id: 'resumeAiSdkChat',
    summary:
      'The stream of the run that is under way, from its beginning: what a chat of the AI SDK asks for when it resumes.',
    success: {
      status: 200,
      description: 'The stream; 204 when no run is under way.',
      contentType: 'text/event-stream',
    },
    handle: resumeAiSdk,
  },
  stopRoute('/v1/ai-sdk/chat/{sessionId}/stop', 'stopAiSdkChat'),
  {
    ...chatTurn,
    path: '/v1/ag-ui',
    id: 'agUi',
    summary: 'A run of AG-UI: `HttpAgent` posts here, and reads the stream. Without news it joins the open run.',
    success: { status: 200, description: 'Events of AG-UI.', contentType: 'text/event-stream' },
    handle: (call) => agUiTurn(call),
  },
  stopRoute('/v1/ag-ui/{sessionId}/abort', 'abortAgUi'),
];
