import type { ClientToolResult, ToolResultContent, UserContent } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { fileBlock, invalidAt, listAt, objectAt, textAt } from '@treadle/server';

/**
 * Reads `{ agent_uuid?, agent_type?, user_prompt }`; the prompt is a text or a list of content blocks. Without a session it is
 * for a new one, of that agent.
 *
 * @throws TreadleError `invalid_messages` that names the place.
 */
export function readRelayPrompt(body: unknown) {
  const { agent_uuid: session, agent_type: agent, user_prompt: said } = objectAt(body, 'the body');
  const prompt: readonly UserContent[] =
    typeof said === 'string'
      ? [{ type: 'text', text: textAt(said, 'user_prompt') }]
      : listAt(said, 'user_prompt').map((block, at) => contentBlock(block, `user_prompt[${at}]`));
  return {
    prompt,
    ...(session === undefined || session === null ? {} : { sessionId: textAt(session, 'agent_uuid') }),
    ...(agent === undefined || agent === null ? {} : { agentType: textAt(agent, 'agent_type') }),
  };
}

/**
 * Reads `{ agent_uuid, tool_results: [{ tool_use_id, content, is_error? }] }`.
 *
 * @throws TreadleError `invalid_messages` that names the place.
 */
export function readRelayResults(body: unknown): {
  readonly sessionId: string;
  readonly results: readonly ClientToolResult[];
} {
  const { agent_uuid: session, tool_results: results } = objectAt(body, 'the body');
  return {
    sessionId: textAt(session, 'agent_uuid'),
    results: listAt(results, 'tool_results').map((value, at) => {
      const path = `tool_results[${at}]`;
      const { tool_use_id: id, content, is_error: isError } = objectAt(value, path);
      return {
        callId: textAt(id, `${path}.tool_use_id`),
        content: resultContent(content, `${path}.content`),
        ...(isError === true ? { isError } : {}),
      };
    }),
  };
}

function resultContent(content: unknown, path: string): string | readonly ToolResultContent[] {
  if (typeof content === 'string') return content;
  return listAt(content, path).map((block, at) => contentBlock(block, `${path}[${at}]`));
}

/** Text, or an image or document whose `source` is base64 or a URL. */
function contentBlock(value: unknown, path: string): UserContent {
  const { type, text, source } = objectAt(value, path);
  if (type === 'text') {
    if (typeof text !== 'string') throw invalidAt(`${path}.text`, 'must be a text');
    return { type, text };
  }
  if (!isJsonObject(source)) throw invalidAt(`${path}.type`, "must be 'text', 'image' or 'document'");
  if (typeof source['url'] === 'string') {
    const mediaType = type === 'image' ? 'image/*' : 'application/octet-stream';
    return fileBlock(mediaType, source['url']);
  }
  const mediaType = textAt(source['media_type'], `${path}.source.media_type`);
  return fileBlock(mediaType, `data:${mediaType};base64,${textAt(source['data'], `${path}.source.data`)}`);
}
