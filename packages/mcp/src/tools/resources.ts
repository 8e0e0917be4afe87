import { defineTool } from '@treadle/core';
import type { Tool } from '@treadle/core';

import type { Connection } from '../client/connection.ts';
import type { Caller } from './caller.ts';
import { toolName } from './names.ts';
import { resourceBlock } from './result.ts';
import { accessOf } from './tool.ts';

/** Resources that one list shows. A server may have millions. */
const MOST_SHOWN = 500;

/** The tools by which a model finds and reads the resources of a server that has any. */
export function resourceTools(
  prefix: string,
  connection: Connection,
  caller: Caller,
  taken: ReadonlySet<string>,
): readonly Tool[] {
  const access = accessOf(connection);
  const common = { ...(access && { access }), replay: 'safe' } as const;
  const named = (name: string): string => toolName(prefix, taken.has(prefix + name) ? `${name}_of_server` : name);
  return [
    defineTool({
      ...common,
      name: named('list_resources'),
      label: `Resources of ${connection.name}`,
      description: `Lists the resources of the MCP server ${connection.name}: addresses to read, and templates for more.`,
      execute: (_, context) =>
        caller.perform(
          context,
          async (client, _more, options) => {
            const { resources } = await client.listResources(undefined, options);
            const { resourceTemplates } = await client.listResourceTemplates(undefined, options);
            return { resources, resourceTemplates };
          },
          ({ resources, resourceTemplates }) => {
            const lines = [
              ...resources.map(({ uri, ...facts }) => lineOf(uri, facts)),
              ...resourceTemplates.map(({ uriTemplate, ...facts }) => lineOf(uriTemplate, facts)),
            ];
            const left = lines.length - MOST_SHOWN;
            const more = left > 0 ? [`… and ${left} more`] : [];
            return { content: lines.length === 0 ? 'None.' : [...lines.slice(0, MOST_SHOWN), ...more].join('\n') };
          },
        ),
    }),
    defineTool({
      ...common,
      name: named('read_resource'),
      label: `Read a resource of ${connection.name}`,
      description: `Reads a resource of the MCP server ${connection.name} by its address.`,
      inputSchema: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
      execute: ({ uri }, context) =>
        caller.perform(
          context,
          (client, more, options) =>
            client.readResource({ uri, ...more }, { ...options, allowInputRequired: true, cacheMode: 'bypass' }),
          ({ contents }) => ({ content: contents.map(resourceBlock) }),
        ),
    }),
  ];
}

const lineOf = (
  uri: string,
  { name, mimeType, description }: { readonly [Key in 'name' | 'mimeType' | 'description']?: string | undefined },
): string =>
  [uri, [name, mimeType, description].filter((fact) => fact !== undefined && fact !== '').join(', ')].join(': ');
