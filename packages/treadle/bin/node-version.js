/** The oldest Node that has all this program uses: `node:sqlite`, and types stripped from sources. */
const OLDEST_MAJOR = 22;
const OLDEST_MINOR = 19;
const OLDEST = `${OLDEST_MAJOR}.${OLDEST_MINOR}`;

/**
 * What is wrong with this Node, and what to do; null when nothing is.
 *
 * @param {string} version such as `20.11.1`
 * @param {string} path of its program
 * @returns {string | null}
 */
export function versionProblem(version, path) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST_MAJOR || (major === OLDEST_MAJOR && minor >= OLDEST_MINOR)) return null;
  return [
    `treadle needs Node ${OLDEST} or later, and this is Node ${version} (${path}).`,
    `Install Node ${OLDEST} or later, or, in a checkout of the repository, run \`npx treadle\`: it uses the Node 24 that \`npm ci\` brought.`,
  ].join('\n');
}
