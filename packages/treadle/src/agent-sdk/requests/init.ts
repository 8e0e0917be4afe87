import type { JsonObject } from '@treadle/core';

import type { Answer } from '../lines/channel.ts';
import { PROTOCOL_VERSION } from '../protocol-version.ts';
import type { Opened } from './opened.ts';
import { DEFAULT_STYLE } from '../settings/output-styles.ts';

/** What the session has now: told at the beginning of each turn. */
export function initMessage({ folder, sdk, pool, told }: Pick<Opened, 'folder' | 'sdk' | 'pool' | 'told'>): JsonObject {
  return {
    apiKeySource: 'user',
    claude_code_version: PROTOCOL_VERSION,
    cwd: folder,
    tools: sdk.toolNames,
    mcp_servers: pool.states.map(({ name = '', status = '' }) => ({ name, status })),
    model: sdk.model.id,
    permissionMode: told.mode,
    slash_commands: sdk.commands.map(({ name }) => name),
    output_style: sdk.outputStyle,
    skills: sdk.skills,
    plugins: sdk.plugins.map((plugin) => ({ ...plugin })),
    agents: sdk.agents.map(({ name }) => name),
    capabilities: ['interrupt_receipt_v1'],
  };
}

/** The models that a client may choose by a short name: every other one goes by `provider/model`. */
export const modelList = ({ model: { id, provider } }: Opened['sdk']): JsonObject[] => [
  { value: 'default', displayName: id, description: `${provider}/${id}`, resolvedModel: id },
];

/**
 * What a client learns of the session before it begins.
 *
 * @param isApplied whether the session began with this request: of another one nothing acts, and the client hears that
 */
export function initializeAnswer({ sdk }: Opened, request: JsonObject, isApplied: boolean): Answer {
  const { provider } = sdk.model;
  return {
    response: {
      commands: sdk.commands.map((command) => ({ ...command })),
      agents: sdk.agents.map((agent) => ({ ...agent })),
      output_style: sdk.outputStyle,
      available_output_styles: [DEFAULT_STYLE, ...sdk.outputStyles],
      models: modelList(sdk),
      account: { apiKeySource: 'user', apiProvider: provider },
      claude_code_version: PROTOCOL_VERSION,
      ...(request['hooks'] === undefined || !isApplied ? {} : { hooks_applied: true, hook_on_failure_supported: true }),
      ...(request['mcpServers'] === undefined ? {} : { mcp_servers_applied: isApplied }),
      ...(request['settings'] === undefined || !isApplied ? {} : { settings_applied: true }),
      ...(request['disallowedTools'] === undefined || !isApplied ? {} : { disallowed_tools_applied: true }),
    },
    beside: { pending_permission_requests: [] },
  };
}
