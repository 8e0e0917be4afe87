import type { Agent } from '../agent/agent.ts';
import { blobKeeper } from '../ports/blob-keeper.ts';
import { inputMovedOut } from '../events/move-out.ts';
import { TreadleError } from '../errors.ts';
import type { SessionInput } from '../events/events.ts';
import { isDeep, MAX_ENVELOPE_DEPTH, TOO_DEEP } from '../json.ts';
import type { Journal, PostOutcome } from '../journal/journal.ts';
import { createHub, type Watcher } from '../kernel/watching/hub.ts';
import type { SessionSource } from '../kernel/services/question.ts';
import { openState, type OpenedState, type SnapshotKeeper } from '../kernel/snapshot/keeper.ts';
import type { SessionState } from '../kernel/state.ts';
import { systemClock } from '../ports/clock.ts';
import { randomIds } from '../ports/ids.ts';
import type { SessionOptions } from './api.ts';
import { childRunner, tellParent } from './children.ts';
import { createExpiry, firstExpiry } from './verbs/expiry.ts';
import type { Expiry, SessionParts } from './parts.ts';
import * as runs from './runs.ts';
import { tasksOf } from './verbs/tasks.ts';
import { createTitler } from './verbs/title.ts';
import type { ChildRunner } from '../features/subagents/child.ts';
import { drivingAgent } from '../features/handoff/handoff.ts';
import type { TaskDesk } from '../features/background/desk.ts';
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
  const parts = new Parts(agent, options, state, keeper, opened, watcher);
  parts.expiry?.arm();
  if (parts.agent.background) tasksOf(parts);
  return parts;
}

function warn(error: unknown): void {
  // The one place core speaks: an observer's failure must not be silent, and must not reach the loop.
  // oxlint-disable-next-line no-console
  console.warn('A Treadle observer failed:', error);
}

class Parts implements SessionParts {
  readonly sessionId: string;
  readonly state: SessionState;
  readonly journal: Journal;
  readonly blobs: SessionParts['blobs'];
  readonly hub: SessionParts['hub'];
  readonly keeper: SnapshotKeeper | null;
  readonly #agent: Agent;
  readonly #options: LoadOptions;
  readonly #isChild: boolean;
  active: SessionParts['active'] = null;
  queue: Promise<unknown> = DONE;
  answered: Set<string> | null = null;
  opened: SessionSource | null;
  tasks: TaskDesk | null = null;
  branches: SessionParts['branches'] = null;
  closed = false;
  children: SessionParts['children'] = null;
  money: SessionParts['money'] = null;
  waiting: SessionParts['waiting'] = null;
  #titler: Titler | null = null;
  #expiry: Expiry | null = null;
  readonly post = async (input: SessionInput, key = this.ids.create('input')): Promise<PostOutcome> => {
    const { blobs, journal, clock } = this;
    if (isDeep(input, MAX_ENVELOPE_DEPTH))
      throw new TreadleError('json_too_deep', `The input is ${TOO_DEEP}. Nothing was posted.`);
    return journal.post(this.sessionId, blobs ? await inputMovedOut(blobs, input) : input, key, clock.now());
  };

  constructor(
    agent: Agent,
    options: LoadOptions,
    state: SessionState,
    keeper: SnapshotKeeper | null,
    opened: SessionSource,
    watcher: Watcher | null,
  ) {
    this.sessionId = state.sessionId;
    this.journal = options.journal;
    this.blobs = blobKeeper(options.blobs);
    this.hub = createHub(options.onObserverError ?? warn, watcher);
    this.keeper = keeper;
    this.opened = opened;
    this.#agent = agent;
    this.#options = options;
    this.#isChild = watcher !== null;
    this.state = state;
  }

  get agent(): Agent {
    return drivingAgent(this.#agent, this.#options.agents ?? [], this.state.drivenBy);
  }
  get clock(): SessionParts['clock'] {
    return this.#options.clock ?? systemClock;
  }
  get ids(): SessionParts['ids'] {
    return this.#options.ids ?? randomIds;
  }
  get owner(): string {
    return this.#options.owner ?? 'this process';
  }
  get random(): () => number {
    return this.#options.random ?? Math.random;
  }
  get childRunner(): ChildRunner {
    return childRunner(this, (child, childId, above) => loadParts(child, childId, this.#options, 'startup', above));
  }
  // Made when there is something for them to do: most sessions are not named by a model, and never wait for anybody.
  get titler(): Titler | null {
    if (!this.#titler && !this.#isChild && this.agent.title) {
      this.#titler = createTitler(this, () => runs.refresh(this));
    }
    return this.#titler;
  }
  get expiry(): Expiry | null {
    const isNeeded = !this.#expiry && !this.#isChild && !this.closed && this.#options.resumeOnExpiry !== false;
    if (isNeeded && firstExpiry(this) < Infinity) this.#expiry = createExpiry(this);
    return this.#expiry;
  }
  get afterDrive(): (() => Promise<void>) | null {
    return this.#isChild ? null : () => tellParent(this);
  }
}

const DONE: Promise<unknown> = Promise.resolve();
