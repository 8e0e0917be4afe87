import { configDefaults, defineConfig } from 'vitest/config';

import base from './vitest.config.ts';

/** Tests against programs that npm doesn't bring; `.ci/run` installs them where it can. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['packages/*/src/**/*.system.test.ts', 'scripts/**/*.system.test.ts', 'examples/**/*.system.test.ts'],
    exclude: configDefaults.exclude,
  },
});
