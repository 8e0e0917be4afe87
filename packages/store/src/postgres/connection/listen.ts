import type { Clock } from '@treadle/core';
import type { Connected, Sql } from './connect.ts';

export interface Listening {
  /** Sends to all who listen. */
  send(notices: readonly string[]): Promise<void>;
  /** The connection, which stays the same while it isn't lost. */
  readonly sql: Sql;
  stop(): void;
}

interface ListenOptions {
  readonly connected: Connected;
  readonly clock: Clock;
  readonly channel: string;
  /** Further channels, on which nothing is sent from here. */
  readonly others?: readonly string[];
  readonly heard: (payload: string) => void;
  /** Looks for what may have been missed; asks nothing while nobody watches. */
  readonly look: (sql: Sql) => Promise<void>;
  /** Called when the connection is lost. */
  readonly lost?: () => void;
  /** Called when a connection that was lost has been replaced. */
  readonly returned?: () => void;
}

/** A dead connection says nothing, as one does on which there is nothing to hear: so it is asked something now and then. */
const LOOK_EVERY_MS = 10_000;
const SHORTEST_WAIT = 50;
const LONGEST_WAIT = 1000;

/** Hears what is sent on a channel from now on, and again after its connection was lost. */
export async function listen({
  connected,
  clock,
  channel,
  others = [],
  heard,
  look,
  lost,
  returned,
}: ListenOptions): Promise<Listening> {
  let listens = false;
  let isBusy = false;
  let isStopped = false;
  let wait = SHORTEST_WAIT;
  let wasLost = false;
  let cancel = (): void => {};
  const sql = connected.listener(heard, () => {
    listens = false;
    wasLost = true;
    lost?.();
    if (!isBusy) goOnIn(SHORTEST_WAIT);
  });

  function goOnIn(ms: number): void {
    cancel();
    if (!isStopped) cancel = clock.after(ms, () => void attend(), { background: true });
  }

  async function begin(): Promise<void> {
    if (listens) return;
    // Before the answer: it may be lost again with it.
    listens = true;
    try {
      // A notice is worth no sync: it is gone with the server, and so are those who listen.
      const channels = [channel, ...others].map((name) => `listen "${name}"`).join('; ');
      await sql.unsafe(`${channels}; set synchronous_commit = off`);
    } catch (thrown) {
      listens = false;
      throw thrown;
    }
    if (wasLost) returned?.();
    wasLost = false;
  }

  async function attend(): Promise<void> {
    isBusy = true;
    try {
      await begin();
      await look(sql);
      wait = SHORTEST_WAIT;
    } catch {
      // Whoever next reads or writes gets the error.
      wait = Math.min(LONGEST_WAIT, wait * 2);
    }
    isBusy = false;
    goOnIn(listens ? LOOK_EVERY_MS : wait);
  }

  try {
    await begin();
  } catch (thrown) {
    isStopped = true;
    cancel();
    throw thrown;
  }
  // What was written since somebody began to watch.
  void attend();
  return {
    sql,
    async send(notices) {
      await sql`
        select pg_notify(${channel}, notice) from unnest(string_to_array(${notices.join(' ')}, ' ')) as notice`;
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
