#!/usr/bin/env node
// Written so that old Nodes can parse it: they are to say what is wrong, not to fail over syntax.
import { existsSync } from 'node:fs';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 19)) {
  // In a checkout the sources run as they are; an installed package has only `dist`.
  const source = new URL('../src/main.ts', import.meta.url);
  const entry = existsSync(source) ? source : new URL('../dist/main.js', import.meta.url);
  import(entry.href)
    .then(({ main }) => main(process.argv.slice(2)))
    .catch((error) => {
      console.error(error);
      process.exitCode = 1;
    });
} else {
  console.error(`Treadle needs Node 22.19 or later, and this is Node ${process.versions.node}. Install a later Node.`);
  process.exitCode = 2;
}
