import { createHash } from 'node:crypto';
import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client';
import { compileSchema, isJsonObject } from '@treadle/core/json';
import type { JsonObject, JsonSchema, JsonValue, ToolResult } from '@treadle/core';
import type { ToolAnswer, ToolQuestion } from '@treadle/core/tools';

/** What a server wants to know of the user, as its question reached us. */
export type Elicitation = ElicitRequestParams;

/** The key of the so-manieth question of a call. It holds what is asked, so that no other question gets the answer. */
export const questionKey = (place: string | number, params: Elicitation): string =>
  `${place}:${createHash('sha256').update(JSON.stringify(params)).digest('hex').slice(0, 16)}`;

/**
 * What the server is told of the user's answer, or why it can't be told that. A form's answer has the form's defaults, and
 * is held against its schema.
 */
export function elicitResult(
  params: Elicitation,
  { decision, input = {} }: Pick<ToolAnswer, 'decision' | 'input'>,
): { readonly result: ElicitResult } | { readonly problem: string } {
  if (decision === 'reject') return { result: { action: 'decline' } };
  if (params.mode === 'url') return { result: { action: 'accept' } };
  const schema = params.requestedSchema as unknown as JsonSchema;
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const content: Record<string, JsonValue> = {};
  for (const [name, property] of Object.entries(properties)) {
    const value = input[name] ?? (isJsonObject(property) ? property['default'] : undefined);
    if (value !== undefined && value !== null) content[name] = value;
  }
  const strange = Object.keys(input).find((name) => !Object.hasOwn(properties, name));
  if (strange !== undefined) return { problem: `the form has no field ${strange}` };
  const [issue] = compileSchema(schema)(content);
  if (issue) return { problem: `${issue.path === '' ? 'the answer' : issue.path} ${issue.message}` };
  return { result: { action: 'accept', content: content as Record<string, string> } };
}

/** The pause that puts a question to the user. `content` is for where nobody can be asked. */
export function askUser(
  server: string,
  params: Elicitation,
  key: string,
  more: { readonly problem?: string | undefined; readonly state?: JsonValue } = {},
): ToolResult & { readonly ask: ToolQuestion } {
  const { problem, state } = more;
  const again = problem === undefined ? '' : ` The last answer did not fit: ${problem}.`;
  const what =
    params.mode === 'url'
      ? { mode: 'url', url: params.url, host: hostOf(params.url) }
      : { mode: 'form', requestedSchema: params.requestedSchema as unknown as JsonObject };
  const ask = `The MCP server ${server} asks: ${params.message}${again}`;
  return {
    content: `The MCP server ${server} asks the user something, and nobody can be asked here.`,
    isError: true,
    ask: {
      key,
      question: params.mode === 'url' ? `${ask} Open ${params.url} by yourself, then approve.` : ask,
      arguments: { server, message: params.message, ...what },
      ...(state === undefined ? {} : { state }),
    },
  };
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');
