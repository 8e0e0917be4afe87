import { TreadleError } from '../errors.ts';
import { refuseUnknownKeys } from '../names/known-keys.ts';
import { isStandardSchema } from '../tools/define/standard-schema.ts';
import { AGENT_KEYS } from './agent-keys.ts';
import type { Agent } from './agent.ts';
import type { AgentDefinition } from './definition.ts';

/** What other libraries call these options, and where ours are. */
const INSTEAD = {
  name: "id: 'my-agent'",
  system: "instructions: '…'",
  systemPrompt: "instructions: '…'",
  prompt: "instructions: '…'",
  maxTurns: 'limits: { maxTurns: … }',
  maxSteps: 'limits: { maxTurns: … }',
  stopWhen: 'limits: { maxTurns: … }',
  maxCost: 'limits: { maxCost: … }',
  outputType: 'output: { schema: … }',
  outputSchema: 'output: { schema: … }',
  canUseTool: 'permissions: { canUseTool: … }',
  handoffs: "tools: [handoffTool(other, { description: '…' })]",
} as const;

const refuse = (message: string): never => {
  throw new TreadleError('invalid_definition', message);
};

/** The checks the type checker makes too, for definitions that never met one. Each says what to write instead. */
export function checkDefinition(definition: AgentDefinition): void {
  if (typeof definition !== 'object' || definition === null) {
    refuse("defineAgent takes one object. Write: defineAgent({ model, instructions: '…', tools: [] })");
  }
  refuseUnknownKeys('The definition of an agent', definition, AGENT_KEYS, INSTEAD);
  checkModel('model', definition.model);
  definition.fallbacks?.forEach((model, index) => checkModel(`fallbacks[${index}]`, model));
  checkTools(definition.tools);
  if (isStandardSchema(definition.output))
    refuse('output has options besides its schema. Write: output: { schema: … }');
}

function checkModel(key: string, model: unknown): void {
  if (typeof model === 'string') {
    const written = `model(${JSON.stringify(model)})`;
    refuse(
      `${key} is the name of a model, and an agent needs the model itself. ` +
        `Write: ${key === 'model' ? `model: ${written}` : written}, with import { model } from 'treadle'`,
    );
  }
  if (typeof model === 'object' && model !== null && typeof Reflect.get(model, 'stream') === 'function') return;
  if (typeof model === 'object' && model !== null && 'doStream' in model)
    refuse(
      `${key} is a model of the AI SDK. Write: aiSdkModel(…), with import { aiSdkModel } from '@treadle/models/ai-sdk'`,
    );
  refuse(
    `An agent needs a model, and ${key} is none. Write: model: model('anthropic/…'), with import { model } from 'treadle'`,
  );
}

function checkTools(tools: unknown): void {
  if (tools === undefined) return;
  if (!Array.isArray(tools)) {
    const names = typeof tools === 'object' && tools !== null ? Object.keys(tools) : [];
    refuse(`tools must be a list, and it is ${typeof tools}. Write: tools: [${names.join(', ')}]`);
    return;
  }
  for (const [index, tool] of (tools as readonly unknown[]).entries()) {
    if (Array.isArray(tool)) refuse(`tools[${index}] is a list of tools. Write: tools: [...it]`);
    const check: unknown = typeof tool === 'object' && tool !== null ? Reflect.get(tool, 'check') : undefined;
    if (typeof check !== 'function') {
      refuse(
        `tools[${index}] is a plain ${typeof tool}, and no tool. ` +
          "Write: defineTool({ name: '…', description: '…', execute: () => … })",
      );
    }
  }
}

/** @throws TreadleError `invalid_definition` for something else in an agent's place, such as its definition. */
export function mustBeAgent(what: string, agent: Agent): void {
  if (typeof agent === 'object' && agent !== null && typeof agent.configSegment === 'string') return;
  refuse(`${what} takes an agent first. Write: ${what}(defineAgent({ … }))`);
}
