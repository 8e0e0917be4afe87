// Publishes every package, in one version:
//
//   npm run release -- --set 0.2.0   writes the version into every package
//   npm run release -- --dry-run     checks everything, and publishes nothing
//   npm run release                  publishes; the workflow `publish.yml` runs it
//
// It works on the workspace in the current folder.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';

import { releaseProblems } from './release/check.ts';
import { stageAll, stagedAt } from './release/stage.ts';
import { setVersion } from './release/version.ts';
import { packagesOf, type Package } from './release/workspace.ts';

const root = process.cwd();

const { values } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false }, set: { type: 'string' } },
});

/** Runs a command. True when it ends well. */
async function runs(cwd: string, command: string, ...args: string[]): Promise<boolean> {
  const child = spawn(command, args, { cwd, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

/** Packages before those that depend on them, so that a publication that breaks off leaves nothing that can't be installed. */
function inOrder(packages: readonly Package[]): readonly Package[] {
  const byName = new Map(packages.map((each) => [each.manifest.name, each]));
  const done = new Set<Package>();
  const visit = (each: Package): void => {
    if (done.has(each)) return;
    for (const name of Object.keys(each.manifest.dependencies ?? {})) {
      const needed = byName.get(name);
      if (needed !== undefined) visit(needed);
    }
    done.add(each);
  };
  for (const each of packages) visit(each);
  return [...done];
}

async function release(isDryRun: boolean): Promise<readonly string[]> {
  const problems = await releaseProblems(root);
  if (problems.length > 0) return problems;
  if (!(await runs(root, 'npm', 'run', '--silent', 'check:catalogue')))
    return ['A default model, or one of an example, is shut down soon. Name its successor there.'];
  if (!(await runs(root, 'npm', 'run', '--silent', 'build'))) return ['The build failed.'];
  await stageAll(root);
  const options = isDryRun ? ['--dry-run'] : ['--provenance'];
  for (const { folder, manifest } of inOrder(await packagesOf(root))) {
    // The folder is staged: `npm publish packages/x` would refuse, for the manifest there is private.
    const isPublished = await runs(stagedAt(root, folder), 'npm', 'publish', '--access', 'public', ...options);
    if (!isPublished) {
      // npm refuses a version that it has, so the packages before this one can't be published again.
      const rest = isDryRun ? '' : ` Publish it and those after it by hand, from ${join('dist', 'packages')}.`;
      return [`${manifest.name} could not be published.${rest}`];
    }
    console.log(`${manifest.name}@${manifest.version}: ${isDryRun ? 'ready' : 'published'}`);
  }
  return [];
}

if (values.set === undefined) {
  const problems = await release(values['dry-run']);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(values['dry-run'] ? 'Ready. Nothing was published.' : 'Published.');
} else {
  await setVersion(root, values.set);
  console.log(`Every package has version ${values.set}. Run \`npm install\` to update the lockfile.`);
}
