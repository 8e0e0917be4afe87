import { defineConfig } from 'vitest/config';

import base from './vitest.config.ts';

/** The ordinary tests, with new random cases for every property: `scripts/vitest/seed.ts`. */
export default defineConfig({ ...base, test: { ...base.test, env: { TREADLE_TEST_SEED: 'random' } } });
