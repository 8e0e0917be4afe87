import { ATTACH_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT, SIGNAL_EXIT } from '../exit-codes.ts';
import { infoText } from '../help.ts';
import { printed } from '../io.ts';
import { keyGuard } from '../asking/keys.ts';
import { openLive, type Live } from '../sessions/live.ts';
import { parseOptions } from '../options.ts';
import { folderOfSession, sessionOf, shortId } from '../sessions/folder-sessions.ts';
import { UsageError } from '../usage-error.ts';
import { readAlong } from './read-along.ts';
import type { AttachedTo } from './screen.ts';
import { journalSession, type AttachedSession } from './session.ts';
import { selfName } from './who.ts';

/** `treadle attach ID`: reads along in a session that is driven elsewhere, and answers in it. Returns the exit code. */
export async function attachCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const { io, out, parts, interruptions } = context;
  const options = parseOptions(args, ATTACH_OPTIONS);
  const info = infoText('attach', options);
  if (info !== null) return printed(out, info);
  const [id, ...more] = options.positionals;
  if (id === undefined) throw new UsageError('Which session? treadle sessions list shows them: treadle attach ID');
  if (more.length > 0) throw new UsageError(`'${more.join(' ')}' is too much: treadle attach ID`);
  const guard = await keyGuard(io.env);
  const note = (text: string): void => context.note(guard.text(text));
  const self = selfName(io.env['USER'], process.pid);
  const follow = async (session: AttachedSession, to: Omit<AttachedTo, 'self'>): Promise<number> => {
    interruptions.onFirst(() => session.close());
    try {
      if (io.stdin.isTTY === true && out.isTTY) {
        const { attachedScreen } = await import('./screen.ts');
        return await attachedScreen({ ...context, note }, session, { self, ...to });
      }
      await readAlong({ ...context, note }, session);
    } finally {
      session.close();
    }
    return interruptions.signal === null ? EXIT.done : SIGNAL_EXIT[interruptions.signal];
  };

  const url = options.text('server');
  if (url !== undefined) {
    const { TREADLE_TOKEN: token = '' } = io.env;
    if (token === '') throw new UsageError('The server wants a token. Set TREADLE_TOKEN to it.');
    if (!URL.canParse(url))
      throw new UsageError(`--server takes an address such as http://127.0.0.1:4123, and not '${url}'.`);
    const { serverSession } = await import('./server-session.ts');
    const { session, history } = serverSession({ url, token }, id, (error) =>
      note(error instanceof Error ? error.message : String(error)),
    );
    return follow(session, { folder: null, onSilence: 'The server may be gone.', history });
  }
  const journal = guard.journal(await parts.journal(io));
  let live: Live | null = null;
  try {
    const sessionId = await sessionOf(journal, id);
    // Fails here where there is none.
    for await (const _ of journal.read(sessionId, 1)) break;
    live = await openLive(io, true);
    const session = journalSession(journal, live, sessionId, { by: self, now: io.now });
    const folder = (await folderOfSession(journal, sessionId)) ?? null;
    const onSilence = `If nobody drives this session, continue it: treadle -r ${shortId(sessionId)}`;
    return await follow(session, { folder, onSilence, history: () => journal.read(sessionId, 1) });
  } finally {
    await live?.close();
    await journal.close();
  }
}
