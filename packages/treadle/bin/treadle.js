#!/usr/bin/env node
// Written so that old Nodes can parse it: they are to say what is wrong, not to fail over syntax.
import { existsSync } from 'node:fs';

import { versionProblem } from './node-version.js';

const problem = versionProblem(process.versions.node, process.execPath);
if (problem === null) {
  start().catch((error) => {
    console.error(error);
    process.exit(1);
  });
} else {
  console.error(problem);
  process.exitCode = 2;
}

/** In a checkout the sources run as they are; an installed package has only `dist`. */
async function start() {
  const source = new URL('../src/cli/process.ts', import.meta.url);
  const fromSource = existsSync(source);
  silenceKnownWarnings();
  if (fromSource) await useSources();
  const entry = fromSource ? source : new URL('../dist/cli/process.js', import.meta.url);
  const { runProcess } = await import(entry.href);
  await runProcess();
}

/** Lets the packages of the workspace resolve to their sources, as `--conditions=treadle-source` would. */
async function useSources() {
  // Loaded on use: Node 20 has no such export, and a static import of it would fail before the version check.
  const { registerHooks } = await import('node:module');
  registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.startsWith('@treadle/')) return next(specifier, context);
      return next(specifier, { ...context, conditions: ['treadle-source', ...context.conditions] });
    },
  });
}

/** Node 22 warns of features that this program relies on and that Node 24 no longer warns of. */
function silenceKnownWarnings() {
  const emitWarning = process.emitWarning;
  process.emitWarning = function (warning, ...rest) {
    const text = typeof warning === 'string' ? warning : warning.message;
    if (/^(SQLite|Type Stripping) is an experimental feature/.test(text)) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
}
