import type { Agent } from '../agent.ts';
import type { Message, ModelMessage } from '../messages/message.ts';
import type { Model, ModelRequest } from '../model/model.ts';
import type { SessionState } from './state.ts';

export const isForModel = (message: Message): message is ModelMessage => message.role !== 'extension';

/** What the model is sent: the view without the application's own messages. Messages keep their identity from call to call. */
export function modelRequest(state: SessionState, agent: Agent, model: Model): ModelRequest {
  const { container } = state;
  return {
    system: agent.instructions,
    messages: state.view.filter(isForModel),
    tools: agent.toolDefinitions,
    sessionId: state.sessionId,
    ...(agent.providerTools.length === 0 ? {} : { providerTools: agent.providerTools }),
    ...(agent.maxTokens === undefined ? {} : { maxTokens: agent.maxTokens }),
    ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
    ...(agent.stopSequences === undefined ? {} : { stopSequences: agent.stopSequences }),
    ...(agent.thinking === undefined ? {} : { thinking: agent.thinking }),
    ...(agent.cache === undefined ? {} : { cache: agent.cache }),
    ...(agent.responseFormat === undefined ? {} : { responseFormat: agent.responseFormat }),
    ...(agent.extraBody === undefined ? {} : { extraBody: agent.extraBody }),
    ...(container?.provider === model.provider ? { containerId: container.id } : {}),
  };
}
