// The command line as it is shipped: `npm run build` has made it. Figures of a process that reads sources say little.

const at = (path: string): URL => new URL(path, import.meta.url);

const { run } = (await import(at('../../bin/start.js').href)) as { run(source: URL, built: URL): void };
run(at('./no-source.ts'), at('../../dist/cli/process.js'));
