import type { JsonObject, Message } from '@treadle/core';
import { estimateMessages, estimateText } from '@treadle/core/messages';

import { wireName } from '../wire/tools.ts';
import { counts } from '../wire/usage.ts';
import type { Opened } from './opened.ts';

/** How full the model's context window is, estimated, by what fills it. */
export async function contextUsage({ session, sdk, pool }: Opened): Promise<JsonObject> {
  const { agent, model } = sdk;
  const tools = agent.toolDefinitions.map((definition) => ({
    name: definition.name,
    tokens: estimateText(JSON.stringify(definition)),
  }));
  const ofServers = tools.filter(({ name }) => pool.tools.some((tool) => tool.name === name));
  const others = tools.filter((tool) => !ofServers.includes(tool));
  const sum = (list: readonly { readonly tokens: number }[]): number =>
    list.reduce((all, { tokens }) => all + tokens, 0);
  const messages = estimateMessages(session.messages);
  const prompt = estimateText([agent.instructions, agent.projectInstructions].join('\n'));
  const used = [
    row('system_prompt', 'System prompt', prompt),
    row('system_tools', 'System tools', sum(others)),
    row('mcp_tools', 'MCP tools', sum(ofServers)),
    row('messages', 'Messages', messages),
  ].filter(({ tokens }) => tokens > 0);
  const total = sum(used);
  const window = model.contextWindow ?? 0;
  const free = Math.max(0, window - total);
  return {
    categories: [...used, ...(window > 0 ? [{ ...row('free_space', 'Free space', free), kind: 'free' }] : [])],
    totalTokens: total,
    maxTokens: window,
    rawMaxTokens: window,
    percentage: window > 0 ? Math.round((total / window) * 100) : 0,
    gridRows: [],
    model: model.id,
    memoryFiles: [],
    mcpTools: ofServers.map(({ name, tokens }) => ({ name, serverName: name.split('__')[1] ?? '', tokens })),
    systemTools: others.map(({ name, tokens }) => ({ name: wireName(name), tokens })),
    agents: [],
    isAutoCompactEnabled: true,
    apiUsage: lastUsage(session.messages),
  };
}

const row = (id: string, name: string, tokens: number) => ({ id, name, tokens, color: 'inactive', kind: 'used' });

/** What the model itself counted last; null before it has. */
function lastUsage(messages: readonly Message[]): JsonObject | null {
  const last = messages.findLast((message) => message.role === 'assistant');
  return last?.role === 'assistant' ? { ...counts(last.usage) } : null;
}
