import type { TerminalUi } from '../../terminal/ui/host.ts';
import type { CliIo } from '../io.ts';
import type { Workbench } from './workbench.ts';

/** Milliseconds after which what hangs is left behind. */
const CLOSING_MS = 2000;

/** Closes the session, if there is one, then what was prepared for it, also where that is ready only now. */
export async function closeInOrder(
  ui: Pick<TerminalUi, 'session'>,
  ready: Promise<{ readonly prepared: Pick<Workbench['prepared'], 'close'> }>,
  io: Pick<CliIo, 'after'>,
): Promise<void> {
  const late = new Promise<void>((resolve) => void io.after(CLOSING_MS, resolve));
  const close = async (): Promise<void> => {
    const { prepared } = await ready;
    try {
      await ui.session.close();
    } finally {
      await prepared.close();
    }
  };
  // The process ends: what can't be closed has nobody to act on it.
  await Promise.race([close().catch(() => {}), late]);
}
