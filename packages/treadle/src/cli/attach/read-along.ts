import { createTextOutput } from '../output/text-output.ts';
import { toolLabels } from '../output/tool-labels.ts';
import type { CommandContext } from '../context.ts';
import { styleFor } from '../style.ts';
import type { AttachedSession } from './session.ts';
import { saidBy } from './who.ts';

/** Prints a session up to the end of its run, where nobody is at a terminal. */
export async function readAlong(
  { io, out, note, interruptions }: CommandContext,
  session: AttachedSession,
): Promise<void> {
  const label = await toolLabels(io.cwd);
  const text = createTextOutput({ out, note, style: styleFor(out.isTTY, io.env), label, showPrompts: true });
  let driver = 'the terminal that drives it';

  async function show(): Promise<void> {
    for await (const event of session.events) {
      if (event.type === 'drive_started') driver = event.owner;
      const said = saidBy(event, null, driver);
      if (said !== null) text.remark(`[${said}]`);
      text.take(event);
      if (event.type === 'run_ended') {
        if (event.status !== 'completed') text.remark(`[${event.status}: ${event.message}]`);
        return;
      }
      const clogged = out.flowing();
      if (clogged) await Promise.race([clogged, interruptions.first]);
      if (out.isClosed) return;
    }
  }

  await Promise.race([show(), interruptions.first]);
  text.breakOff();
}
