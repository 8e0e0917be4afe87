// Builds what the tests of packed packages pack: once, because builds of the same folders at the same time spoil each other.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';

export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], {
    cwd: join(import.meta.dirname, '../..'),
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
}
