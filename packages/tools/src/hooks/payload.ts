import type { HookInput, JsonObject } from '@treadle/core';
import { commandEventOf } from './names.ts';

/** What a hook is told besides its input. */
export interface Surroundings {
  readonly folder: string;
  readonly transcriptPath: string;
  /** Where the conversation of the sub-agent is that has ended. */
  readonly agentTranscriptPath?: string;
  readonly permissionMode: string;
}

/** What a shell-command hook is told, in the field names of the Claude Agent SDK. */
export function hookPayload(
  input: HookInput,
  { folder, transcriptPath, agentTranscriptPath, permissionMode }: Surroundings,
): JsonObject {
  return {
    session_id: input.sessionId,
    ...(input.runId === undefined ? {} : { run_id: input.runId }),
    transcript_path: transcriptPath,
    cwd: folder,
    permission_mode: permissionMode === 'bypass' ? 'bypassPermissions' : permissionMode,
    hook_event_name: commandEventOf(input.event),
    ...(agentTranscriptPath === undefined ? {} : { agent_transcript_path: agentTranscriptPath }),
    ...fieldsOf(input),
  };
}

function fieldsOf(input: HookInput): JsonObject {
  switch (input.event) {
    case 'before_tool':
      return callOf(input);
    case 'permission_request':
      return { ...callOf(input), reason: input.reason };
    case 'after_tool':
      return { ...callOf(input), tool_response: contentOf(input) };
    case 'tool_failed':
      return {
        ...callOf(input),
        error: textOf(input),
        tool_response: contentOf(input),
        is_interrupt: input.interrupted === true,
      };
    case 'before_tool_update':
    case 'after_tool_update':
      return { tool_name: input.toolName, tool_use_id: input.callId, tool_response: contentOf(input) };
    case 'user_prompt_submit':
      return { prompt: input.prompt };
    case 'stop':
      return { stop_hook_active: input.stopHookActive, last_assistant_message: input.text };
    case 'subagent_start':
      return { agent_type: input.agentType, agent_id: input.childRunId };
    case 'subagent_stop':
      return { agent_type: input.agentType, agent_id: input.childRunId, stop_hook_active: input.stopHookActive };
    case 'session_start':
      return { source: input.source };
    case 'session_end':
      return { reason: input.reason };
    case 'before_compaction':
      return { trigger: input.trigger, custom_instructions: input.instructions ?? null };
    case 'notification':
      return { message: input.message, notification_type: input.kind };
    default: {
      // What that SDK has no name for is told in ours.
      const { event: _event, sessionId: _sessionId, agentId: _agentId, runId: _runId, ...own } = input;
      return own as unknown as JsonObject;
    }
  }
}

type Call = Pick<Extract<HookInput, { event: 'before_tool' }>, 'toolName' | 'callId' | 'arguments'>;
type Answer = Pick<Extract<HookInput, { event: 'after_tool' }>, 'content'>;

const callOf = ({ toolName, callId, arguments: input }: Call): JsonObject => ({
  tool_name: toolName,
  tool_input: input,
  tool_use_id: callId,
});

const contentOf = ({ content }: Answer): JsonObject['content'] => content as unknown as JsonObject['content'];

const textOf = ({ content }: Answer): string =>
  content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
