import { processIo } from '../cli/process.ts';
import { main } from './main.ts';

/** Runs `treadle-agent-sdk` with this process's arguments, then ends the process. */
export async function runProcess(): Promise<void> {
  const code = await main(process.argv.slice(2), processIo());
  // Not left to itself: an open standard input or a kept connection would hold the process.
  process.exit(code);
}
