// @module-tag slow

import { expect, it } from 'vitest';

import { CONVERSATIONS } from '../test-support/agent-sdk/shared.ts';
import { all, world } from '../test-support/agent-sdk/world.ts';

it.each(CONVERSATIONS)('$name', async ({ turns, prompt, options, problem }) => {
  await using w = await world(turns);
  const running = w.drive(prompt, options);
  expect(problem(await all(running))).toBe(null);
  expect(running.strange).toEqual([]);
});
