import { defineConfig } from 'vitest/config';

import base from './vitest.config.ts';

/** All tests that take long by nature. `npm test` runs a share of them. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['{packages/*/src,scripts,bench,examples}/**/*.slow.test.ts'],
  },
});
