import { type Agent, toolDefinitions } from '../../agent/agent.ts';
import type { Draft } from '../../draft.ts';
import { isForModel } from '../../messages/message.ts';
import { replyLimit } from '../../messages/prompt-size.ts';
import type { Model, ModelRequest, ToolDefinition } from '../../model/model.ts';
import { deferredRequest, policyOf, systemOf } from '../features.ts';
import type { SessionPermissions } from '../folds.ts';
import type { SessionState } from '../state.ts';

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
  const tools = isSame ? agent.toolDefinitions : toolDefinitions(agent.tools.values(), removed, agent.toolSearch);
  offered.set(permissions, { agent, tools });
  return tools;
}

/** What the model is sent: the view without the application's own messages. Messages keep their identity from call to call. */
export function modelRequest(
  state: SessionState,
  agent: Agent,
  model: Model,
  maxTokens: number | undefined = replyLimit(state, agent, model),
): ModelRequest {
  const { container } = state;
  const request: Draft<ModelRequest> = {
    system: systemOf(state, agent),
    messages: state.view.every(isForModel) ? state.view.slice() : state.view.filter(isForModel),
    tools: offeredTools(state, agent),
    sessionId: state.sessionId,
  };
  if (agent.providerTools.length > 0) request.providerTools = agent.providerTools;
  if (maxTokens !== undefined) request.maxTokens = maxTokens;
  if (agent.temperature !== undefined) request.temperature = agent.temperature;
  if (agent.stopSequences !== undefined) request.stopSequences = agent.stopSequences;
  if (agent.thinking !== undefined) request.thinking = agent.thinking;
  if (agent.cache !== undefined) request.cache = agent.cache;
  if (agent.responseFormat !== undefined) request.responseFormat = agent.responseFormat;
  // The tools stay declared, for the provider's cache of the prompt begins with them.
  if (state.run?.limits.closing) request.toolChoice = 'none';
  if (agent.providerOptions !== undefined) request.providerOptions = agent.providerOptions;
  if (container?.provider === model.provider) request.containerId = container.id;
  const removed = (): ReadonlySet<string> =>
    (state.permissions === null ? agent.permissions : policyOf(agent.permissions, state.permissions)).removed;
  return agent.toolSearch ? deferredRequest(request, agent, model, removed) : request;
}
