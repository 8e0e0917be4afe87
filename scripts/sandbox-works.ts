// Says whether commands can be sandboxed on this machine: prints why not, and exits with 1. `.ci/run` asks.

import { sandboxStatus } from '@treadle/tools';

const { works, reason } = await sandboxStatus();
if (!works) {
  console.log(reason);
  process.exitCode = 1;
}
