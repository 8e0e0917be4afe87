import { configDefaults, defineConfig } from 'vitest/config';

import base from './vitest.config.ts';

/** Tests against programs that npm doesn't bring, and against the packages of `compat`. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['packages', 'scripts', 'examples', 'compat'].map((folder) => `${folder}/**/*.system.test.ts`),
    exclude: configDefaults.exclude,
    globalSetup: ['scripts/vitest/compat.ts', 'scripts/vitest/built.ts'],
  },
});
