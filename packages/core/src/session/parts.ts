import type { PendingCall, SessionInput } from '../events/events.ts';
import type { PostOutcome } from '../journal/journal.ts';
import type { BranchPerformer, Hold, SessionContext } from '../kernel/context.ts';
import type { SessionSource } from '../kernel/services/question.ts';
import type { RunControl } from './run.ts';
import type { SessionMoney } from './money.ts';
import type { TaskDesk } from '../features/background/desk.ts';
import type { Titler } from '../features/titles/titler.ts';

/** What the methods of a session share. */
export interface SessionParts extends SessionContext {
  readonly hold: SessionHold;
  /** Into this session's inbox, under a key of its own. */
  readonly post: (input: SessionInput, key?: string) => Promise<PostOutcome>;
  /** Compactions that go on with no run open, or are about to: a cancellation ends them. */
  compacting: { count: number; isAborted: boolean } | null;
  /** The run that is being driven here, or waits for its turn. */
  active: { readonly control: RunControl; readonly ended: Promise<void> } | null;
  /** Whatever folds the log into the state does so in turn: this is the end of the queue. */
  queue: Promise<unknown>;
  /** Questions that were answered here: the log will say so. */
  answered: Set<string> | null;
  /** How the session came to be open, until its hooks have been told. */
  opened: SessionSource | null;
  /** Where background tasks are begun and ended; null until something needs it. */
  tasks: TaskDesk | null;
  /** Does what steps about branches say; null where nobody has said what they are. */
  branches: BranchPerformer | null;
  /** Nobody uses the session here any more. */
  closed: boolean;
  /** Sub-agents of open calls that are open in this process, by session; null until there is one. */
  children: Map<string, SessionParts> | null;
  /** What its sub-agents draw on; null until there is one. */
  money: SessionMoney | null;
  /** Sub-agents in the background that wait for somebody, by session; null until one does. */
  waiting: Map<string, { readonly pending: readonly PendingCall[]; readonly wake: () => void }> | null;
  /** Told when a drive that nobody above waits for has let go. Null where there is nobody to tell. */
  readonly afterDrive: (() => Promise<void>) | null;
  /** Has the session named; null in a sub-agent's, which is in no list. */
  readonly titler: Titler | null;
  /** Null where whoever opened the session sees to it. */
  readonly expiry: Expiry | null;
}

/** The claim of a session, as its methods see it. */
export interface SessionHold extends Hold {
  /** What ran beside the drives has ended: lets the session go, if it was kept for that. */
  settle(): Promise<void>;
  /** Another process has the session. */
  lose(): void;
  /** Has the drive stop before its next step. */
  yield(): void;
}

/** Goes on with a run when the time is over to answer what it waits for. */
export interface Expiry {
  /** Looks at what is waited for now. */
  arm(): void;
  stop(): void;
}
