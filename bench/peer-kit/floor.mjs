// The floor of this benchmark as a driver of the peer kit, to show that it costs no more than the kit's own `raw`.
// It takes the built floor from `TREADLE_BENCH`, the `bench/dist` folder of a checkout of Treadle.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const built = process.env.TREADLE_BENCH;
if (!built) throw new Error('Set TREADLE_BENCH to the bench/dist folder of a built checkout.');
const { floorOn } = await import(pathToFileURL(join(built, 'contestants', 'floor', 'index.js')).href);
const WIRES = { 'openai-chat': await floorOn('openai-chat'), anthropic: await floorOn('anthropic') };

export const meta = {
  wire: 'openai-chat',
  reusable: true,
  partialArgs: 'string delta',
  config: 'fetch, a loop, JSON.parse',
};

export function create({ baseUrl, scenario, tools, wire = 'openai-chat', onDelta, onArgs }) {
  return WIRES[wire].define({
    baseUrl,
    scenario,
    tools: tools.map(({ name, description, schema, execute }) => ({ name, description, parameters: schema, execute })),
    onText: (text) => onDelta?.(text),
    onArguments: (text) => onArgs?.(text),
  });
}

export async function run(options) {
  const conversation = await (options.agent ?? create(options)).open();
  return { text: await conversation.run() };
}

export function idle({ baseUrl, tools, turns }) {
  return create({ baseUrl, scenario: 'echo-1', tools }).open(turns);
}
