import type { ClientToolResult, ToolResultContent, UserContent } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { base64Of } from '@treadle/core/messages';
import { fileBlock, invalidAt, listAt, objectAt, textAt, type ApprovalDecision } from '@treadle/server';

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

/**
 * Reads `{ agent_uuid, approvals: [{ approval_id, decision, message? }] }`.
 *
 * @throws TreadleError `invalid_messages` that names the place.
 */
export function readRelayApprovals(body: unknown): {
  readonly sessionId: string;
  readonly answers: readonly ApprovalDecision[];
} {
  const { agent_uuid: session, approvals } = objectAt(body, 'the body');
  return {
    sessionId: textAt(session, 'agent_uuid'),
    answers: listAt(approvals, 'approvals').map((value, at) => {
      const path = `approvals[${at}]`;
      const { approval_id: id, decision, message } = objectAt(value, path);
      if (decision !== 'approve' && decision !== 'reject')
        throw invalidAt(`${path}.decision`, "must be 'approve' or 'reject'");
      const said = typeof message === 'string' ? { message } : {};
      return { approvalId: textAt(id, `${path}.approval_id`), decision, ...said };
    }),
  };
}

/**
 * Reads the form of `POST /agent/run/multipart`: the fields of a prompt as texts, and files, which follow its text.
 *
 * @throws TreadleError `invalid_messages` that names the place.
 */
export async function readRelayForm(form: FormData) {
  const textIn = (name: string): string | undefined => {
    const value = form.get(name);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const files: UserContent[] = [];
  for (const value of form.values()) {
    if (typeof value === 'string') continue;
    const mediaType = value.type === '' ? 'application/octet-stream' : value.type;
    const data = base64Of(new Uint8Array(await value.arrayBuffer()));
    files.push(fileBlock(mediaType, `data:${mediaType};base64,${data}`, value.name));
  }
  const said = textIn('user_prompt');
  const prompt = [...(said === undefined ? [] : [{ type: 'text' as const, text: said }]), ...files];
  if (prompt.length === 0) throw invalidAt('user_prompt', 'or a file must be there');
  const [sessionId, agentType] = [textIn('agent_uuid'), textIn('agent_type')];
  return { prompt, ...(sessionId !== undefined && { sessionId }), ...(agentType !== undefined && { agentType }) };
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
