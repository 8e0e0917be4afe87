import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  // Tests run the sources, not `dist`: the condition resolves each workspace package to its `src/index.ts`.
  // Without `module`, which Vite adds by default: Vitest hands the conditions to Node, which can't load the files that
  // some packages offer to bundlers under it.
  ssr: { resolve: { conditions: ['treadle-source', 'node', 'development|production'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/**/*.test.ts', 'examples/**/*.test.ts'],
    // Those need programs that npm doesn't bring: vitest.system.config.ts runs them.
    exclude: [...configDefaults.exclude, '**/*.system.test.ts'],
    testTimeout: 30_000,
    restoreMocks: true,
  },
});
