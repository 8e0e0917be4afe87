import { agUiFormat } from '../encoders/ag-ui.ts';
import { aiSdkFormat } from '../encoders/ai-sdk.ts';
import type { StreamFormat } from '../encoders/encoder.ts';
import { readAgUiRequest } from '../inputs/ag-ui.ts';
import { readAiSdkRequest } from '../inputs/ai-sdk.ts';
import type { ClientTurn } from '../inputs/client-turn.ts';
import { takeTurn } from '../operations/client-turn.ts';
import { oneRun } from '../streams/scope.ts';
import type { RouteCall, Route } from './serving/route.ts';
import { openStream } from './stream.ts';

const chatTurn = {
  method: 'post',
  problems: ['run_active', 'empty_prompt', 'not_awaiting', 'invalid_messages'],
  query: {
    agent: { schema: { type: 'string' }, description: 'The agent of a conversation that is new. Default: the first.' },
  },
} as const;

async function answer(call: RouteCall, turn: ClientTurn, format: StreamFormat): Promise<Response> {
  const { afterSeq, scope } = await takeTurn(call, turn, call.query['agent'] as string | undefined);
  return openStream(call, turn.threadId, { from: { seq: afterSeq, message: null }, scope, format });
}

/** Endpoints that clients of other protocols speak to. A conversation of theirs is the session of its name. */
export const CHAT_PROTOCOL_ROUTES: readonly Route[] = [
  {
    ...chatTurn,
    path: '/v1/ai-sdk/chat',
    id: 'aiSdkChat',
    summary: 'A turn of a chat of the AI SDK: `DefaultChatTransport` posts here, and reads the stream.',
    success: { status: 200, description: 'A UI message stream, version 1.', contentType: 'text/event-stream' },
    handle: (call) => answer(call, readAiSdkRequest(call.body), aiSdkFormat),
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
    async handle(call) {
      const { run } = await call.parts.states.of(call.sessionId);
      if (!run) return new Response(null, { status: 204 });
      const { runId, startedSeq } = run;
      return openStream(call, call.sessionId, {
        from: { seq: startedSeq - 1, message: null },
        scope: oneRun({ runId }),
        runId,
        format: aiSdkFormat,
      });
    },
  },
  {
    ...chatTurn,
    path: '/v1/ag-ui',
    id: 'agUi',
    summary: 'A run of AG-UI: `HttpAgent` posts here, and reads the stream.',
    success: { status: 200, description: 'Events of AG-UI 1.0.', contentType: 'text/event-stream' },
    async handle(call) {
      const { request, ...turn } = readAgUiRequest(call.body);
      return answer(call, turn, agUiFormat(request));
    },
  },
];
