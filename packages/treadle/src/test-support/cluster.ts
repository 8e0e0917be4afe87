import type { DurableEvent, Journal } from '@treadle/core';
import { logOf } from '@treadle/testing';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { openJournal, type ClusterProcess } from './cluster-journal.ts';

/** A server in a process of its own. */
export interface Member {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Starts a run in a new session of an agent. */
  start(sessionId: string, prompt: string, agentId?: string): Promise<void>;
  /** Sends a prompt to a session. */
  prompt(sessionId: string, input: string): Promise<number>;
  /** Kills it at once, or asks it to end; resolves when it has. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** What a tool or a model did, in which process, and when. */
export interface Effect {
  readonly pid: number;
  readonly at: number;
  readonly what: readonly string[];
}

/** Servers that share a journal. */
export interface Cluster {
  readonly journal: Journal;
  member(): Promise<Member>;
  effects(): readonly Effect[];
  log(sessionId: string): Promise<DurableEvent[]>;
  /** Waits until it holds, at most so long. */
  until(what: string, holds: () => boolean | Promise<boolean>, ms?: number): Promise<void>;
  close(): Promise<void>;
}

/** Servers on an SQLite file or a folder of their own (`sqlite`, `files`), or on the database of a URL. */
export function createCluster(where: string, options: { readonly workMs: number; readonly leaseMs?: number }): Cluster {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-cluster-'));
  const world = join(folder, 'world');
  const place = { sqlite: join(folder, 'journal.db'), files: join(folder, 'journal') }[where] ?? where;
  const given: ClusterProcess = { journal: place, world, ...options };
  const journal = openJournal(given);
  const members = new Set<Member>();

  async function member(): Promise<Member> {
    const program = join(import.meta.dirname, 'cluster-process.ts');
    const child = spawn(process.execPath, ['--conditions=treadle-source', program, JSON.stringify(given)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    const url = line.trim();
    const call = async (path: string, body: object): Promise<number> => {
      const headers = { authorization: 'Bearer test-token-of-a-cluster', 'content-type': 'application/json' };
      return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    };
    const made: Member = {
      child,
      pid: child.pid ?? 0,
      async start(id, prompt, agentId = 'worker') {
        await call('/v1/sessions', { id, agent: agentId });
        const status = await call(`/v1/sessions/${id}/runs`, { input: prompt });
        if (status >= 300) throw new Error(`The run of ${id} was refused: ${status}`);
      },
      prompt: (id, input) => call(`/v1/sessions/${id}/runs`, { input }),
      async end(signal) {
        members.delete(made);
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill(signal);
        await ended;
      },
    };
    members.add(made);
    return made;
  }

  async function until(what: string, holds: () => boolean | Promise<boolean>, ms = 30_000): Promise<void> {
    const deadline = Date.now() + ms;
    while (!(await holds())) {
      if (Date.now() > deadline) throw new Error(`Not within ${ms} ms: ${what}`);
      await setTimeout(50);
    }
  }

  return {
    journal,
    member,
    effects: () =>
      (existsSync(world) ? readFileSync(world, 'utf8').split('\n').filter(Boolean) : []).map((line) => {
        const [pid, at, ...what] = line.split(' ');
        return { pid: Number(pid), at: Number(at), what };
      }),
    log: (sessionId) => logOf(journal, sessionId),
    until,
    async close() {
      await Promise.all([...members].map((each) => each.end('SIGKILL')));
      await journal.close();
    },
  };
}

/** The value below which so large a share of the others are. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
