// Tests must run on the Node this workspace brings along. With `npm ci --ignore-scripts` the `node` package has no
// binary and npm would quietly fall back to the machine's own Node, which may have neither `node:sqlite` nor types.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `Treadle needs Node 22.19 or later, and this is ${process.version} (${process.execPath}).\n` +
      'Run `npm ci` without --ignore-scripts, which brings Node 24, and start this through `npm test`.',
  );
  process.exit(1);
}
console.log(`Node ${process.version}`);
