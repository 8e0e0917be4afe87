import { fakeProvider, modelContract } from '@treadle/testing';
import { describe, it } from 'vitest';
import { TEST_WIRES } from './test-support/wires.ts';

describe.each(TEST_WIRES)('on $name', (wire) => {
  const cases = modelContract(async (turns) => {
    const provider = await fakeProvider(turns);
    return { model: wire.model(provider), dispose: () => provider.close() };
  });
  for (const { name, run } of cases) it(name, run);
});
