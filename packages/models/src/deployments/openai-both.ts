import { familyOf } from '../rules/rules.ts';
import { OPENAI_FAMILIES } from '../rules/openai.ts';
import { UNKNOWN_FAMILIES } from '../rules/servers.ts';
import { openaiResponses } from '../protocols/openai-responses/protocol.ts';
import { AZURE } from './azure.ts';
import type { Deployment } from './deployment.ts';
import { OPENAI_COMPATIBLE } from './openai-compatible.ts';
import { OPENAI_RESPONSES } from './openai-responses.ts';
import { isOpenAIModel, OPENAI_CHAT } from './openai.ts';

const { protocol: chat } = OPENAI_CHAT;
const { protocol: responses } = OPENAI_RESPONSES;

/** OpenAI's own API. Models that reason are reached by the Responses API: the newest take tools nowhere else. */
export const OPENAI: Deployment = {
  ...OPENAI_RESPONSES,
  name: 'openai',
  wires: { chat, responses },
  wireFor(modelId, url) {
    const reasons = isOpenAIModel(modelId, url) && familyOf(OPENAI_FAMILIES, modelId).efforts.length > 0;
    return reasons ? responses : (OPENAI_CHAT.wireFor?.(modelId, url) ?? chat);
  },
};

/** Azure OpenAI, by the Responses API unless Chat Completions are asked for. */
export const AZURE_BOTH: Deployment = { ...AZURE, wires: { chat, responses } };

/** Azure OpenAI, by Chat Completions. */
export const AZURE_CHAT: Deployment = { ...AZURE, name: 'azure-chat', protocol: chat };

/** Any server, by Chat Completions unless the Responses API is asked for. */
export const COMPATIBLE_BOTH: Deployment = {
  ...OPENAI_COMPATIBLE,
  wires: { chat: OPENAI_COMPATIBLE.protocol, responses: openaiResponses({ family: UNKNOWN_FAMILIES[0] }) },
};
