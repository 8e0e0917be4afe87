// What must hold before the packages are published.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { manifestAt, packagesOf, repositoryOf, type Package } from './workspace.ts';

/** Every reason not to publish a workspace; none when it is ready. Each says what to do. */
export async function releaseProblems(root: string): Promise<readonly string[]> {
  const { version } = await manifestAt(root);
  const packages = await packagesOf(root);
  return [
    ...repositoryProblems(await repositoryOf(root)),
    ...packages.flatMap((each) =>
      versionProblems(each, version, new Set(packages.map(({ manifest }) => manifest.name))),
    ),
    ...changelogProblems(await readFile(join(root, 'CHANGELOG.md'), 'utf8'), version),
  ];
}

function repositoryProblems(repository: string): readonly string[] {
  if (/^https:\/\/[^/]+\/[^/]+\/[^/]+$/.test(repository)) return [];
  const found = repository === '' ? 'is empty' : `is ${repository}`;
  return [`The repository ${found}. Set "repository" in package.json, such as https://github.com/OWNER/treadle.`];
}

function versionProblems({ manifest, folder }: Package, version: string, ours: ReadonlySet<string>): readonly string[] {
  const own =
    manifest.version === version ? [] : [`packages/${folder} has version ${manifest.version}, not ${version}.`];
  const others = Object.entries(manifest.dependencies ?? {})
    .filter(([name, range]) => ours.has(name) && range !== version)
    .map(([name, range]) => `packages/${folder} depends on ${name} ${range}, not ${version}.`);
  return [...own, ...others].map((problem) => `${problem} Run: npm run release -- --set ${version}`);
}

function changelogProblems(changelog: string, version: string): readonly string[] {
  const heading = changelog.split('\n').find((line) => line.startsWith(`## [${version}]`));
  const wanted = `"## [${version}] - YYYY-MM-DD"`;
  if (heading === undefined) return [`CHANGELOG.md has no section ${wanted}. Rename "## [Unreleased]" to it.`];
  if (!/ - \d{4}-\d{2}-\d{2}$/.test(heading)) return [`CHANGELOG.md says "${heading}". Write ${wanted}.`];
  const section = changelog.slice(changelog.indexOf(heading) + heading.length).split('\n## ')[0] ?? '';
  return section.trim() === '' ? [`The section ${wanted} of CHANGELOG.md is empty.`] : [];
}
