import type { ContentBlock, ToolCallContent } from '@agentclientprotocol/sdk';
import type { ToolResultContent, UserContent } from '@treadle/core';

import { basename, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a client prompts with, as content of a session. Files that it embeds are marked as data. */
export function promptContent(blocks: readonly ContentBlock[], folder: string): UserContent[] {
  return blocks.map((block): UserContent => {
    switch (block.type) {
      case 'text':
        return { type: 'text', text: block.text };
      case 'image':
        return { type: 'image', mediaType: block.mimeType, data: block.data };
      case 'resource_link':
        return { type: 'text', text: `[${block.title ?? block.name}](${shownUri(block.uri, folder)})` };
      case 'resource':
        return embedded(block.resource, folder);
      case 'audio':
        return { type: 'file', mediaType: block.mimeType, data: block.data, name: 'audio' };
    }
  });
}

type Embedded = Extract<ContentBlock, { type: 'resource' }>['resource'];

function embedded(resource: Embedded, folder: string): UserContent {
  const uri = shownUri(resource.uri, folder);
  if ('text' in resource) return { type: 'text', text: asData(uri, resource.text) };
  const mediaType = resource.mimeType ?? 'application/octet-stream';
  if (mediaType.startsWith('image/')) return { type: 'image', mediaType, data: resource.blob };
  return { type: 'file', mediaType, data: resource.blob, name: basename(uri) };
}

/** A text that no line of its own can end early. */
function asData(uri: string, text: string): string {
  let tag = 'resource';
  for (let number = 2; text.includes(`</${tag}>`); number += 1) tag = `resource-${number}`;
  return `<${tag} uri=${JSON.stringify(uri)}>\n${text}\n</${tag}>`;
}

/** A file of the folder by its path there, as the tools take it. */
function shownUri(uri: string, folder: string): string {
  if (!uri.startsWith('file://') || !URL.canParse(uri)) return uri;
  try {
    const inside = relative(folder, fileURLToPath(uri));
    return inside === '' || inside.startsWith('..') ? uri : inside;
  } catch {
    return uri;
  }
}

/** Content of a message or a result, as a client shows it. What is kept elsewhere is named. */
export function contentBlock(block: ToolResultContent): ContentBlock {
  if (block.type === 'text') return { type: 'text', text: block.text };
  const { type, mediaType, data, url } = block;
  const name = type === 'file' ? (block.name ?? 'file') : 'image';
  if (url !== undefined) return { type: 'resource_link', name, uri: url, mimeType: mediaType };
  if (data === undefined) return { type: 'text', text: `[${name}, ${mediaType}]` };
  if (type === 'image') return { type: 'image', mimeType: mediaType, data };
  return {
    type: 'resource',
    resource: { uri: `attachment:${encodeURIComponent(name)}`, mimeType: mediaType, blob: data },
  };
}

/** The content of a tool call. Clients render texts as Markdown: one that is none is `fenced`. */
export const callContent = (content: readonly ToolResultContent[], isFenced: boolean): ToolCallContent[] =>
  content
    .filter((block) => block.type !== 'text' || block.text !== '')
    .map((block) => {
      const shown = contentBlock(block);
      return {
        type: 'content',
        content: isFenced && shown.type === 'text' ? { ...shown, text: fenced(shown.text) } : shown,
      };
    });

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
