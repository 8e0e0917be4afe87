import { join } from 'node:path';
import process from 'node:process';

import { configDefaults, defineConfig } from 'vitest/config';

// Tests start hundreds of processes that run the same sources. Most of such a process's life is making JavaScript of them,
// which Node can keep.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compile');

export default defineConfig({
  // Tests run the sources, not `dist`: the condition resolves each workspace package to its `src/index.ts`.
  // Without `module`, which Vite adds by default: Vitest hands the conditions to Node, which can't load the files that
  // some packages offer to bundlers under it.
  ssr: { resolve: { conditions: ['treadle-source', 'node', 'development|production'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/**/*.test.ts', 'examples/**/*.test.ts'],
    // Those need programs that npm doesn't bring: vitest.system.config.ts runs them.
    exclude: [...configDefaults.exclude, '**/*.system.test.ts'],
    // Starting a worker and loading the sources anew for each file took a third of the time. So test files share their
    // process: what one changes in it, it changes back.
    pool: 'forks',
    isolate: false,
    // A `*.slow.test.ts` begins with `@module-tag slow`. `npm test` runs only those of its tests that have the tag `share`.
    tags: [
      { name: 'slow', description: 'Takes long by nature.' },
      { name: 'share', description: 'Runs in `npm test`, although its file is slow.' },
    ],
    setupFiles: ['scripts/vitest/seed.ts'],
    testTimeout: 30_000,
    // One second, the default, isn't enough on a machine that has other work.
    expect: { poll: { timeout: 15_000 } },
    // By default one core is left idle.
    maxWorkers: '100%',
    restoreMocks: true,
  },
});
