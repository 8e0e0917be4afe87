import type { Agent } from '../../agent/agent.ts';
import type { PermissionMode } from '../../events/permission-updates.ts';
import type { SessionState } from '../../kernel/state.ts';
import { textsOf } from '../../messages/final-text.ts';
import { askHooks, type HookEnvironment } from './ask.ts';
import type { HookInput } from './hook.ts';
import type { JsonValue } from '../../json.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { answerOf } from '../../kernel/final-answer.ts';
import type { Question } from '../../kernel/services/question.ts';
import { viewTokens } from '../../kernel/services/context-window.ts';
import { nextRunId } from '../../kernel/services/run-id.ts';

type HookQuestion = Extract<Question, { type: 'hook' }>;

/** Asks the hooks of an event. */
export async function askHook(
  context: PerformContext,
  question: HookQuestion,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { hooks } = context.agent;
  const input = hookInput(context, question);
  if (!hooks || !input) return { decision: 'proceed' };
  const decision = await askHooks(hooks, input, hookEnvironment(context, signal, question.runId));
  return decision as unknown as JsonValue;
}

export function hookEnvironment(
  { agent, clock, state, emit }: PerformContext,
  signal: AbortSignal,
  runId?: string,
): HookEnvironment {
  return {
    clock,
    signal,
    messages: state.view,
    permissionMode: modeOf(agent, state),
    warn: (code, message) =>
      emit({ type: 'warning', afterSeq: state.seq, ...(runId === undefined ? {} : { runId }), code, message }),
  };
}

/** What the session does with calls that no rule is about. */
export function modeOf({ permissions }: Agent, state: SessionState): PermissionMode {
  const mode = state.permissions?.mode ?? permissions.mode;
  return mode === 'bypass' && !permissions.allowBypass ? permissions.mode : mode;
}

/** What the hooks are told; null when what the question is about is gone. */
function hookInput({ agent, state }: PerformContext, question: HookQuestion): HookInput | null {
  const { event, runId, inputSeq, callId } = question;
  const common = { sessionId: state.sessionId, agentId: agent.id, ...(runId === undefined ? {} : { runId }) };
  const { run } = state;
  switch (event) {
    case 'session_start':
      return { event, ...common, source: question.source ?? 'startup' };
    case 'user_prompt_submit': {
      const input = state.inbox.find(({ seq }) => seq === inputSeq)?.input;
      if (input?.type !== 'prompt') return null;
      const { messages } = input;
      return {
        event,
        ...common,
        prompt: messages.map(({ content }) => textsOf(content).join('\n')).join('\n'),
        messages,
      };
    }
    case 'before_run':
      return { event, ...common, runIndex: nextRunId(state, agent).ordinal };
    case 'before_turn':
      return { event, ...common, turnIndex: question.turnIndex ?? 0 };
    case 'before_compaction': {
      const input = state.inbox.find(({ seq }) => seq === inputSeq)?.input;
      const wished = input?.type === 'compact' ? input.instructions : undefined;
      const instructions = wished === undefined ? {} : { instructions: wished };
      return {
        event,
        ...common,
        trigger: question.trigger ?? 'auto',
        tokens: viewTokens(state, agent),
        ...instructions,
      };
    }
    case 'stop':
      return {
        event,
        ...common,
        text: answerOf(state, agent).text,
        stopHookActive: (run?.stopsRefused ?? 0) > 0,
      };
    case 'before_tool':
    case 'after_tool':
    case 'tool_failed': {
      const call = run?.turn?.calls.find((each) => each.callId === callId);
      if (!run?.turn || !call) return null;
      const told = { turnIndex: run.turn.index, toolName: call.name, callId: call.callId, arguments: call.arguments };
      if (event === 'before_tool') return { event, ...common, ...told };
      const { result } = call;
      return result && { event, ...common, ...told, content: result.content, isError: result.isError };
    }
  }
}
