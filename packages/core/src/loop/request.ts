import { toolDefinitions, type Agent } from '../agent.ts';
import type { Message, ModelMessage } from '../messages/message.ts';
import type { Model, ModelRequest, ToolDefinition } from '../model/model.ts';
import { policyOf } from '../permissions/policy.ts';
import type { SessionPermissions } from '../permissions/updates.ts';
import type { SessionState } from './state.ts';

export const isForModel = (message: Message): message is ModelMessage => message.role !== 'extension';

/** Lists made so far, so that a wire still serialises each once. */
const offered = new WeakMap<SessionPermissions, { readonly agent: Agent; readonly tools: readonly ToolDefinition[] }>();

/** The tools the model is told of: not those that the session's own rules deny altogether. */
function offeredTools({ permissions }: SessionState, agent: Agent): readonly ToolDefinition[] {
  if (permissions === null) return agent.toolDefinitions;
  const known = offered.get(permissions);
  if (known?.agent === agent) return known.tools;
  const { removed } = policyOf(agent.permissions, permissions);
  const before = agent.permissions.removed;
  const isSame = removed.size === before.size && [...removed].every((name) => before.has(name));
  const tools = isSame ? agent.toolDefinitions : toolDefinitions(agent.tools.values(), removed);
  offered.set(permissions, { agent, tools });
  return tools;
}

/** What the model is sent: the view without the application's own messages. Messages keep their identity from call to call. */
export function modelRequest(
  state: SessionState,
  agent: Agent,
  model: Model,
  maxTokens: number | undefined = agent.maxTokens,
): ModelRequest {
  const { container } = state;
  return {
    system: agent.instructions,
    messages: state.view.every(isForModel) ? state.view.slice() : state.view.filter(isForModel),
    tools: offeredTools(state, agent),
    sessionId: state.sessionId,
    ...(agent.providerTools.length === 0 ? {} : { providerTools: agent.providerTools }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
    ...(agent.stopSequences === undefined ? {} : { stopSequences: agent.stopSequences }),
    ...(agent.thinking === undefined ? {} : { thinking: agent.thinking }),
    ...(agent.cache === undefined ? {} : { cache: agent.cache }),
    ...(agent.responseFormat === undefined ? {} : { responseFormat: agent.responseFormat }),
    // The tools stay declared, for the provider's cache of the prompt begins with them.
    ...(state.run?.limits.closing ? { toolChoice: 'none' } : {}),
    ...(agent.extraBody === undefined ? {} : { extraBody: agent.extraBody }),
    ...(container?.provider === model.provider ? { containerId: container.id } : {}),
  };
}
