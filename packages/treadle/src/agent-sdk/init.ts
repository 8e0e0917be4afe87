import type { JsonObject } from '@treadle/core';

import type { Answer } from './channel.ts';
import { PROTOCOL_VERSION } from './protocol-version.ts';
import type { Opened } from './opened.ts';
import { wireMode } from './wire/permissions.ts';

/** The style that is always there. */
const DEFAULT_STYLE = 'default';

/** What the session has now: told at the beginning of each turn. */
export function initMessage({ folder, sdk, session }: Opened): JsonObject {
  return {
    apiKeySource: 'user',
    claude_code_version: PROTOCOL_VERSION,
    cwd: folder,
    tools: sdk.toolNames,
    mcp_servers: [],
    model: sdk.model.id,
    permissionMode: wireMode(session.agent.permissions.mode),
    slash_commands: [],
    output_style: DEFAULT_STYLE,
    skills: [],
    plugins: [],
    agents: [],
    capabilities: ['interrupt_receipt_v1'],
  };
}

/** What a client learns of the session before it begins. */
export async function initializeAnswer({ sdk }: Opened, request: JsonObject): Promise<Answer> {
  const { id, provider } = sdk.model;
  return {
    response: {
      commands: [],
      agents: [],
      output_style: DEFAULT_STYLE,
      available_output_styles: [DEFAULT_STYLE],
      models: [{ value: 'default', displayName: id, description: `${provider}/${id}`, resolvedModel: id }],
      account: { apiKeySource: 'user', apiProvider: provider },
      claude_code_version: PROTOCOL_VERSION,
      ...(request['hooks'] ? { hooks_applied: true, hook_on_failure_supported: true } : {}),
    },
  };
}
