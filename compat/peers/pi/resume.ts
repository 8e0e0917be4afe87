// A job that is killed, and resumed by another process, with the experimental harness.
import process from 'node:process';
import {
  AgentHarness,
  type AgentHarnessTool,
  BACKGROUND_CONTEXT,
  JsonlSessionRepo,
  NodeExecutionEnv,
} from '@earendil-works/pi-agent-core/node';
import { builtinModels, getBuiltinModel } from '@earendil-works/pi-ai/providers/all';
import { Type } from 'typebox';

const context = BACKGROUND_CONTEXT;
const cwd = process.cwd();
const repo = new JsonlSessionRepo({ fileSystem: new NodeExecutionEnv({ cwd }), sessionsRoot: `${cwd}/sessions` });
const [saved] = await repo.list({ cwd }, context);

const schema = Type.Object({ page: Type.Number() });
const importPage: AgentHarnessTool<undefined, typeof schema> = {
  name: 'import_page',
  label: 'Import page',
  description: 'Imports one page.',
  parameters: schema,
  replay: 'never',
  execute: async (_id, { page }) => ({
    content: [{ type: 'text', text: `Imported page ${page}.` }],
    details: undefined,
  }),
};

const { harness, open } = await AgentHarness.create(
  {
    session: saved ? await repo.open(saved, context) : await repo.create({ cwd }, context),
    models: builtinModels(),
    model: getBuiltinModel('openai', 'gpt-5'),
    tools: [importPage],
  },
  context,
);
const lane = await harness.lane('main', context);
const result =
  open.length > 0
    ? await lane.resume(context)
    : await lane.prompt('Import all pages of the catalogue.', undefined, context);
if (!result.ok) throw result.error;
console.log(result.value.status);
