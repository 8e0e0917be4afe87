/** Something that takes less room while nobody uses it. */
export interface Resting {
  /** True while it waits to be asked to rest. */
  isQueued: boolean;
  /** True while something goes on in it. */
  readonly mustStayAwake: boolean;
  rest(): void;
}

/** What may rest. */
let queue: WeakRef<Resting>[] = [];

/** Milliseconds after which others have their turn. */
const SLICE_MS = 8;

/**
 * Memory is short when the engine collects it, and that is when sessions that nobody uses are packed: what lives for a
 * moment is never packed, and a process with memory to spare hardly ever does it. An object that nobody has tells of a
 * collection.
 */
const collections =
  typeof FinalizationRegistry === 'undefined' ? null : new FinalizationRegistry<null>(() => putToRest(queue));
let isWatching = false;

function watchForCollection(): void {
  if (isWatching) return;
  isWatching = true;
  collections?.register({}, null);
}

/** Asks it to rest when the engine collects memory next, unless something goes on in it by then. */
export function restLater(resting: Resting): void {
  if (collections === null) return;
  resting.isQueued = true;
  queue.push(new WeakRef(resting));
  watchForCollection();
}

function putToRest(queued: WeakRef<Resting>[]): void {
  if (queued === queue) {
    isWatching = false;
    queue = [];
  }
  const until = Date.now() + SLICE_MS;
  while (queued.length > 0) {
    const resting = queued.pop()?.deref();
    if (resting === undefined) continue;
    resting.isQueued = false;
    if (!resting.mustStayAwake) resting.rest();
    if (Date.now() >= until) break;
  }
  if (queued.length > 0) setTimeout(putToRest, 0, queued);
}
