// Written so that old Nodes can parse it: they are to say what is wrong, not to fail over syntax.
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

import { versionProblem } from './node-version.js';

/**
 * Runs `runProcess` of a module of this package, or says that this Node is too old.
 *
 * @param {URL} source the module in a checkout
 * @param {URL} built the same in an installed package
 */
export function run(source, built) {
  const problem = versionProblem(process.versions.node, process.execPath);
  if (problem === null) {
    start(source, built).catch((error) => {
      console.error(error);
      process.exit(1);
    });
  } else {
    console.error(problem);
    process.exitCode = 2;
  }
}

/**
 * In a checkout the sources run as they are; an installed package has only `dist`.
 *
 * @param {URL} source
 * @param {URL} built
 */
async function start(source, built) {
  const fromSource = existsSync(source);
  silenceKnownWarnings();
  keepGrammarSmall();
  if (fromSource) await useSources();
  const { runProcess } = await import((fromSource ? source : built).href);
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

/**
 * The parser of bash commands is one very large function of WebAssembly. Node 24 takes 500 MB for a moment to optimize it, and
 * no command gets faster by it. A test prints the memory: `terminal/cases/tools.system.test.ts`, case 6.
 */
function keepGrammarSmall() {
  setFlagsFromString('--wasm-tiering-budget=2000000000');
}
