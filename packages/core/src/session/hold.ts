import { agentOfRun } from '../kernel/perform/offered-tools.ts';
import { plan } from '../kernel/plan.ts';
import { sessionStatus } from '../features/approvals/pending.ts';
import type { Claim, Rest } from '../journal/journal.ts';
import { canResume, firstExpiry } from './verbs/expiry.ts';
import type { SessionHold, SessionParts } from './parts.ts';
import { goOnWith, hasWork, inTurn, refresh, start, tidyUp } from './runs.ts';
import { pendingOfRun } from './verbs/tool-outputs.ts';

/** A share of the lease, after which it is asked whether the claim still stands. */
const LOOKS = 3;

/**
 * The claim of a session. While something of the session runs in this process beside its drives, such as a background task,
 * the claim is kept: no other process may take that for abandoned. What is posted meanwhile is done here.
 */
export function createHold(parts: SessionParts): SessionHold {
  const { journal, clock, sessionId } = parts;
  let ownerId: string | null = null;
  let claim: Claim | null = null;
  let stopLooking = (): void => {};
  let unwatch = (): void => {};
  let lost = (): void => {};
  let yielding = new AbortController();

  function look(held: Claim): void {
    if (!Number.isFinite(held.leaseMs)) return;
    const ask = async (): Promise<void> => {
      // One that fails once may succeed next time; the fence keeps the log safe.
      const isHeld = await held.renew().catch(() => true);
      if (claim !== held) return;
      if (isHeld) look(held);
      else {
        lost();
        if (parts.active) stopWatching();
        else drop();
      }
    };
    stopLooking = clock.after(held.leaseMs / LOOKS, () => void ask(), { background: true });
  }

  function stopWatching(): void {
    unwatch();
    unwatch = () => {};
  }

  /** Another process has the session: what still runs of it here is no longer ours to tell about. */
  function drop(): Claim | null {
    const dropped = claim;
    claim = null;
    ownerId = null;
    stopLooking();
    stopWatching();
    return dropped;
  }

  async function release(rest: Rest): Promise<void> {
    // What is in the log stands. A claim that can't be let go lapses by itself.
    await drop()
      ?.release(rest)
      .catch(() => {});
  }

  /** Does what was posted while nothing is driven. */
  function watch(): void {
    let isWoken = false;
    const wake = async (): Promise<void> => {
      await refresh(parts);
      isWoken = false;
      if (parts.active || parts.closed || claim === null) return;
      if (hasWork(parts) && canResume(parts)) {
        const { outcome } = start(parts, (control) => goOnWith(parts, control));
        await outcome;
      } else await tidyUp(parts);
    };
    unwatch = journal.watch(sessionId, (seq) => {
      if (isWoken || parts.active || seq <= parts.state.seq) return;
      isWoken = true;
      // Whoever watches the session sees what came of it; a failure leaves it due.
      void wake().catch(() => {
        isWoken = false;
      });
    });
  }

  return {
    get yielding() {
      return yielding.signal;
    },
    async claim(whenLost) {
      stopWatching();
      ownerId ??= parts.ids.create('drive');
      const taken = await journal.claim(sessionId, { id: ownerId, label: parts.owner });
      stopLooking();
      claim = taken;
      lost = () => {
        whenLost();
        parts.tasks?.abandon();
      };
      if (yielding.signal.aborted) yielding = new AbortController();
      look(taken);
      return taken;
    },
    async letGo() {
      if (claim === null) return;
      const isAtWork = parts.tasks?.isBusy === true || parts.titler?.isOwed === true;
      if (isAtWork && !parts.closed) watch();
      else await release(restOf(parts));
    },
    async settle() {
      await inTurn(parts, async () => {
        if (claim === null || parts.active) return;
        stopWatching();
        await this.letGo();
      });
    },
    lose() {
      parts.tasks?.abandon();
      const dropped = drop();
      void dropped?.release().catch(() => {});
    },
    yield: () => yielding.abort(),
  };
}

/** How the session is left: what the plan says of it now. */
function restOf(parts: SessionParts): Rest {
  const { state, agent, clock } = parts;
  const now = clock.now();
  const step = plan(state, agentOfRun(agent, state), now);
  const expiry = firstExpiry(parts);
  const wakeAt = step.type === 'wait' ? (step.until ?? expiry) : step.type === 'idle' ? expiry : now;
  return {
    seen: state.seq,
    wakeAt: wakeAt === Infinity ? null : wakeAt,
    status: sessionStatus(state),
    waitsFor: [...new Set(pendingOfRun(parts).map(({ type }) => type))],
  };
}
