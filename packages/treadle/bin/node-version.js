/** The oldest Node that has all this program uses: `node:sqlite`, and types stripped from sources. */
const OLDEST = [22, 19];

/**
 * What is wrong with this Node, and what to do; null when nothing is.
 *
 * @param {string} version such as `20.11.1`
 * @param {string} path of its program
 * @returns {string | null}
 */
export function versionProblem(version, path) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return null;
  return [
    `treadle needs Node ${OLDEST.join('.')} or later, and this is Node ${version} (${path}).`,
    `Install Node ${OLDEST.join('.')} or later, or, in a checkout of the repository, run \`npx treadle\`: it uses the Node 24 that \`npm ci\` brought.`,
  ].join('\n');
}
