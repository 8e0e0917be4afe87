import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Tests run the sources, not `dist`: the condition resolves each workspace package to its `src/index.ts`.
  ssr: { resolve: { conditions: ['treadle-source', 'module', 'node', 'development|production'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'scripts/**/*.test.ts', 'examples/**/*.test.ts', 'docs/**/*.test.ts'],
    testTimeout: 30_000,
    restoreMocks: true,
  },
});
