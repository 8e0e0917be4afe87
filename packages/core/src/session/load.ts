import type { Agent } from '../agent/agent.ts';
import { blobKeeper } from '../ports/blob-keeper.ts';
import { inputMovedOut } from '../events/move-out.ts';
import { TreadleError } from '../errors.ts';
import { isDeep, MAX_ENVELOPE_DEPTH, TOO_DEEP } from '../json.ts';
import type { Journal } from '../journal/journal.ts';
import { createHub, type Watcher } from '../kernel/watching/hub.ts';
import type { SessionSource } from '../kernel/services/question.ts';
import { openState, type OpenedState } from '../kernel/snapshot/keeper.ts';
import { systemClock } from '../ports/clock.ts';
import { randomIds } from '../ports/ids.ts';
import type { SessionOptions } from './api.ts';
import { childRunner, tellParent } from './children.ts';
import { createExpiry, firstExpiry } from './verbs/expiry.ts';
import { createHold } from './hold.ts';
import type { Expiry, SessionHold, SessionParts } from './parts.ts';
import * as runs from './runs.ts';
import { tasksOf } from './verbs/tasks.ts';
import { createTitler } from './verbs/title.ts';
import { drivingAgent } from '../features/handoff/handoff.ts';
import type { Titler } from '../features/titles/titler.ts';

type LoadOptions = SessionOptions & { readonly journal: Journal };

/** A session's parts, as its log has them now. With a watcher it is the sub-agent of a session in this process. */
export async function loadParts(
  agent: Agent,
  sessionId: string,
  options: LoadOptions,
  opened: SessionSource,
  watcher: Watcher | null,
): Promise<SessionParts> {
  return partsFrom(agent, options, await openState(options.journal, sessionId), opened, watcher);
}

/** The parts of a session whose log was folded. */
export function partsFrom(
  agent: Agent,
  options: LoadOptions,
  { state, keeper }: OpenedState,
  opened: SessionSource,
  watcher: Watcher | null,
): SessionParts {
  const { sessionId } = state;
  const { journal, clock = systemClock, ids = randomIds } = options;
  const isChild = watcher !== null;
  const blobs = blobKeeper(options.blobs);
  // Made when there is something for them to do: most sessions are not named by a model, and never wait for anybody.
  let titler: Titler | null = null;
  let expiry: Expiry | null = null;
  let hold: SessionHold | null = null;
  const parts: SessionParts = {
    sessionId,
    get agent() {
      return drivingAgent(agent, options.agents ?? [], state.drivenBy);
    },
    journal,
    clock,
    ids,
    random: options.random ?? Math.random,
    owner: options.owner ?? 'this process',
    get hold() {
      return (hold ??= createHold(parts));
    },
    appContext: options.context,
    blobs,
    state,
    keeper,
    hub: createHub(options.onObserverError ?? warn, watcher),
    async post(input, key = ids.create('input')) {
      if (isDeep(input, MAX_ENVELOPE_DEPTH))
        throw new TreadleError('json_too_deep', `The input is ${TOO_DEEP}. Nothing was posted.`);
      return journal.post(sessionId, blobs ? await inputMovedOut(blobs, input) : input, key, clock.now());
    },
    compacting: null,
    active: null,
    queue: Promise.resolve(),
    answered: null,
    opened,
    tasks: null,
    branches: options.branches ?? null,
    closed: false,
    get childRunner() {
      return childRunner(parts, (child, childId, above) => loadParts(child, childId, options, 'startup', above));
    },
    children: null,
    money: null,
    waiting: null,
    afterDrive: isChild ? null : () => tellParent(parts),
    get titler() {
      if (!titler && !isChild && parts.agent.title) titler = createTitler(parts, () => runs.refresh(parts));
      return titler;
    },
    get expiry() {
      const isNeeded = !expiry && !isChild && !parts.closed && options.resumeOnExpiry !== false;
      if (isNeeded && firstExpiry(parts) < Infinity) expiry = createExpiry(parts);
      return expiry;
    },
  };
  parts.expiry?.arm();
  if (parts.agent.background) tasksOf(parts);
  return parts;
}

function warn(error: unknown): void {
  // The one place core speaks: a failure of an observer or a callback must not be silent, and must not reach the loop.
  // oxlint-disable-next-line no-console
  console.warn('Code that Treadle called has failed:', error);
}
