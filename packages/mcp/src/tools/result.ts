import type { CallToolResult, ContentBlock, ResourceContents } from '@modelcontextprotocol/client';
import { compileSchema } from '@treadle/core/json';
import type { JsonSchema, JsonValue, ToolResult, ToolResultContent } from '@treadle/core';

import { McpProblem } from '../client/problem.ts';

type Resource = Extract<ContentBlock, { type: 'resource' }>['resource'] | ResourceContents;

/** What a model, and programs, read of a tool's result. @throws McpProblem `bad_answer`. */
export function resultOf(server: string, result: CallToolResult, outputSchema: unknown): ToolResult {
  const { structuredContent, isError } = result;
  if (outputSchema !== undefined && isError !== true) checkStructured(server, structuredContent, outputSchema);
  const blocks = (result.content ?? []).map(blockOf);
  // The text is there for models that read nothing else; without it they would read nothing.
  const content: ToolResultContent[] =
    blocks.length === 0 && structuredContent !== undefined
      ? [{ type: 'text', text: JSON.stringify(structuredContent) }]
      : blocks;
  return {
    content: content.length === 0 ? '' : content,
    ...(isError === true ? { isError } : {}),
    ...(structuredContent === undefined ? {} : { details: { structuredContent: structuredContent as JsonValue } }),
  };
}

/** A server that promises a shape is held to it: a program that reads `details` may rely on the shape. */
function checkStructured(server: string, value: unknown, schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  const problem = (text: string): McpProblem =>
    new McpProblem('bad_answer', `The MCP server ${server} did the call, but its result can't be used: ${text}`);
  if (value === undefined) throw problem('it has no structured content, which its output schema promises.');
  const [issue] = compileSchema(schema as JsonSchema)(value);
  if (issue) throw problem(`its structured content at ${issue.path === '' ? 'its top' : issue.path} ${issue.message}.`);
}

/** A block of a result or a prompt. */
export function blockOf(block: ContentBlock): ToolResultContent {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
      return { type: 'image', mediaType: block.mimeType, data: block.data };
    case 'audio':
      return { type: 'file', mediaType: block.mimeType, data: block.data };
    case 'resource':
      return resourceBlock(block.resource);
    case 'resource_link': {
      const { uri, name, mimeType, description } = block;
      const facts = [name, mimeType, description].filter((fact) => fact !== undefined && fact !== '');
      return { type: 'text', text: `[resource ${uri}: ${facts.join(', ')}]` };
    }
    default:
      return { type: 'text', text: JSON.stringify(block) };
  }
}

/** The content of a resource, with its address before a text. */
export function resourceBlock(resource: Resource): ToolResultContent {
  const { uri, mimeType = 'application/octet-stream' } = resource;
  if ('text' in resource && typeof resource.text === 'string') {
    return { type: 'text', text: `[resource ${uri}]\n${resource.text}` };
  }
  const data = 'blob' in resource && typeof resource.blob === 'string' ? resource.blob : '';
  if (mimeType.startsWith('image/')) return { type: 'image', mediaType: mimeType, data };
  return { type: 'file', mediaType: mimeType, name: uri, data };
}

/** Facts for programs about a call that failed. */
export const failureOf = (server: string, problem: McpProblem): ToolResult => ({
  content: problem.message,
  isError: true,
  details: { server, problem: problem.code },
});
