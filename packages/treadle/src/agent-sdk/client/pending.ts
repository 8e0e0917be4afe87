import { errorText, type JsonObject, type Run, type Session } from '@treadle/core';
import type { PendingQuestion } from '@treadle/core/events';
import { isJsonObject } from '@treadle/core/json';

import type { Channel } from '../lines/channel.ts';

/** Goes on with a run that waits for an answer, once the client has given one. Whatever goes wrong is a no. */
export async function answerPending(channel: Channel, session: Session): Promise<Run> {
  const [call] = session.pending;
  if (call === undefined || call.type === 'client_tool') return session.resume();
  if (call.type === 'approval') return session.reject(call, 'Nobody can be asked.');
  return elicited(channel, session, call);
}

/** A question of an MCP server's, put to the client. */
async function elicited(channel: Channel, session: Session, call: PendingQuestion): Promise<Run> {
  const { server, message, mode, url, requestedSchema } = call.arguments;
  const request: JsonObject = {
    subtype: 'elicitation',
    mcp_server_name: server ?? '',
    message: message ?? call.question,
    mode: mode ?? 'form',
    ...(url === undefined ? {} : { url }),
    ...(requestedSchema === undefined ? {} : { requested_schema: requestedSchema }),
  };
  const answer = await channel.request(request).catch((error: unknown): JsonObject => ({ message: errorText(error) }));
  const { action, content } = answer;
  if (action !== 'accept') return session.reject(call, 'The user declined.');
  return session.approve(call, { updatedInput: isJsonObject(content) ? content : {} });
}
