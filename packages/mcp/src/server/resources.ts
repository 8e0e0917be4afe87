import type { McpServer } from '@modelcontextprotocol/server';
import type { Agent, DurableEvent, Journal } from '@treadle/core';
import { base64Of } from '@treadle/core/messages';
import { transcript, transcriptMarkdown } from '@treadle/core/projections';

import type { AgentRuns } from './agent-runs.ts';

/** A resource that the server offers. */
export interface AgentResource {
  /** Its address, such as `docs://start`. With `{name}` in it, it stands for many: `docs://{page}`. */
  readonly uri: string;
  readonly name: string;
  readonly description?: string;
  /** Such as `text/markdown`. */
  readonly mimeType?: string;
  /** Its content; `values` has what stands in the places of the address. */
  readonly read: (values: Readonly<Record<string, string>>) => string | Uint8Array | Promise<string | Uint8Array>;
}

interface Parts {
  readonly agent: Agent;
  readonly runs: AgentRuns;
  readonly journal: Journal;
  readonly resources: readonly AgentResource[];
}

type Sdk = typeof import('@modelcontextprotocol/server');

const SESSIONS = 'treadle://sessions/';
const PAGE = 100;

const isTemplate = ({ uri }: AgentResource): boolean => uri.includes('{');

/** Answers for the resources of a server: those of the application, and the sessions of its agent. */
export function offerResources(
  server: McpServer['server'],
  { agent, runs, journal, resources }: Parts,
  sdk: Sdk,
): void {
  const shown = resources.map(({ read: _, uri, ...facts }) => ({ ...facts, uri }));
  server.setRequestHandler('resources/list', async ({ params }) => {
    const cursor = params?.cursor;
    const page = await journal.list({ agentId: agent.id, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const sessions = page.sessions.map(({ sessionId, title, firstPrompt, updatedAt }) => ({
      uri: SESSIONS + sessionId,
      name: title ?? firstPrompt ?? sessionId,
      mimeType: 'text/markdown',
      annotations: { lastModified: new Date(updatedAt).toISOString() },
    }));
    const own = cursor === undefined ? shown.filter((_, at) => !isTemplate(resources[at] as AgentResource)) : [];
    return { resources: [...own, ...sessions], ...(page.cursor === undefined ? {} : { nextCursor: page.cursor }) };
  });
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      ...resources.filter(isTemplate).map(({ read: _, uri, ...facts }) => ({ ...facts, uriTemplate: uri })),
      {
        uriTemplate: `${SESSIONS}{session}`,
        name: 'session',
        description: 'What happened in a session.',
        mimeType: 'text/markdown',
      },
    ],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    for (const resource of resources) {
      const values = isTemplate(resource) ? matched(resource.uri, uri) : resource.uri === uri ? {} : null;
      if (!values) continue;
      const content = await resource.read(values);
      const { mimeType = typeof content === 'string' ? 'text/plain' : 'application/octet-stream' } = resource;
      const held = typeof content === 'string' ? { text: content } : { blob: base64Of(content) };
      return { contents: [{ uri, mimeType, ...held }] };
    }
    const id = uri.startsWith(SESSIONS) ? uri.slice(SESSIONS.length) : '';
    if (id === '' || !(await runs.isOurs(id))) throw new sdk.ResourceNotFoundError(uri);
    const events: DurableEvent[] = [];
    for await (const event of journal.read(id, 1)) events.push(event);
    return { contents: [{ uri, mimeType: 'text/markdown', text: transcriptMarkdown(transcript(events)) }] };
  });
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument } }) => {
    if (ref.type !== 'ref/resource' || !ref.uri.startsWith(SESSIONS)) return { completion: { values: [] } };
    const { sessions } = await journal.list({ agentId: agent.id, limit: PAGE });
    const ids = sessions.map(({ sessionId }) => sessionId);
    return { completion: { values: ids.filter((id) => id.startsWith(argument.value)) } };
  });

  function matched(template: string, uri: string): Readonly<Record<string, string>> | null {
    const found = new sdk.UriTemplate(template).match(uri);
    return found && Object.fromEntries(Object.entries(found).map(([name, value]) => [name, [value].flat().join(',')]));
  }
}
