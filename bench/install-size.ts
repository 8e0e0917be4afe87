import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface InstallSize {
  readonly packages: number;
  readonly bytes: number;
}

/** Installs packed packages into an empty folder, as a user would, and weighs what is there then. */
export async function installSize(root: string, packages: readonly string[]): Promise<InstallSize> {
  const folder = await mkdtemp(join(tmpdir(), 'treadle-install-'));
  try {
    const workspaces = packages.flatMap((name) => ['--workspace', name]);
    await run('npm', ['pack', ...workspaces, '--pack-destination', folder, '--silent'], { cwd: root });
    const files = (await readdir(folder)).map((name) => join(folder, name));
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--silent', '--prefix', folder, ...files], {
      cwd: folder,
    });
    const modules = join(folder, 'node_modules');
    const entries = await readdir(modules, { recursive: true, withFileTypes: true });
    let bytes = 0;
    let count = 0;
    for (const entry of entries) {
      if (!entry.isFile()) continue;
      if (entry.name === 'package.json' && isPackageRoot(modules, entry.parentPath)) count++;
      bytes += (await stat(join(entry.parentPath, entry.name))).size;
    }
    return { packages: count, bytes };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `node_modules/NAME` or `node_modules/@SCOPE/NAME`, at any depth. */
function isPackageRoot(modules: string, folder: string): boolean {
  const path = `node_modules${folder.slice(modules.length)}`.replaceAll('\\', '/');
  return /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/@][^/]*$/.test(path);
}
