import { allSessions } from '../journal/all-sessions.ts';
import type { DurableEvent } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import type { Journal, SessionSummary } from '../journal/journal.ts';
import { sessionTreeFold, type RunRecord, type SessionTree } from '../projections/tree/session-tree.ts';
import { linkSessions } from '../projections/tree/session-tree-queries.ts';
import { addSpending, NOTHING_SPENT, spendingOf, type Spending } from '../projections/spending.ts';
import { childSessionId } from '../features/subagents/child.ts';

/** What a session is to the one above it. */
export type FamilyTie =
  /** Nobody above it: the first of the family, or what is above it was deleted. */
  | { readonly kind: 'root' }
  /** A fork, by hand, to run something again or to take another path: the continuation of its first run says which. */
  | { readonly kind: 'fork'; readonly sessionId: string; readonly seq: number }
  /** One of several runs side by side. */
  | { readonly kind: 'branch'; readonly sessionId: string; readonly runId: string; readonly isSelected: boolean }
  /** A sub-agent's. */
  | {
      readonly kind: 'sub_agent';
      readonly sessionId: string;
      readonly runId: string;
      readonly callId: string;
      readonly toolName: string;
    };

/** A session of a family. */
export interface FamilyMember {
  readonly sessionId: string;
  readonly title: string | null;
  readonly tie: FamilyTie;
  /** Sessions that begin below this one, in the order in which they were made. */
  readonly childSessionIds: readonly string[];
  /** The session with the runs that began in it, and not those that a fork shares with its parent. */
  readonly tree: SessionTree;
  /** What was used in it: by its runs, and between them. What others above and below it used is theirs. */
  readonly spent: Spending;
}

/**
 * A session with all that came of it: forks, runs side by side, sub-agents. It has every run once, so `findRun`, `rootRuns`,
 * `childRuns` and `totalUsage` of a tree are for a family too, and cross from session to session.
 */
export interface SessionFamily {
  readonly rootSessionId: string;
  /** Those above before those below. */
  readonly members: readonly FamilyMember[];
  /** In the order in which they began. */
  readonly runs: readonly RunRecord[];
  /** What all of them have used; nothing of it is counted twice. */
  readonly spent: Spending;
}

/**
 * Reads the family of a session, whichever of its members is named. It costs a row of each session of the journal, and the own
 * events of the members: nothing that a fork shares is read twice.
 *
 * @throws TreadleError `session_not_found`.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal } from '@treadle/core';
 * import { readFamily, rerunSession } from '@treadle/core/history';
 * import { rootRuns } from '@treadle/core/projections';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const agent = defineAgent({ model: scriptedModel(['Six.', 'Seven.']) });
 * const session = await createSession(agent, { journal, id: 'week' });
 * await session.prompt('How many days has a week?').result;
 * const again = await rerunSession(agent, 'week', { journal });
 * await again.run.result;
 *
 * const family = await readFamily(journal, again.session.id);
 * console.log(family.rootSessionId, family.members.map(({ tie }) => tie.kind)); // week [ 'root', 'fork' ]
 * console.log(rootRuns(family).length, family.runs.map(({ continuation }) => continuation?.kind)); // 2 [ 'initial', 'rerun' ]
 * ```
 */
export async function readFamily(journal: Journal, sessionId: string): Promise<SessionFamily> {
  const rows = await rowsOf(journal);
  const rootSessionId = await rootOf(journal, rows, sessionId);
  const drafts = new Map<string, Draft>();
  const open = [rootSessionId];
  for (let id = open.shift(); id !== undefined; id = open.shift()) {
    const row = rows.byId.get(id);
    if (!row || drafts.has(id)) continue;
    const draft = await readMember(journal, rows, row, drafts);
    drafts.set(id, draft);
    const below = [...(rows.forks.get(id) ?? []).map((fork) => fork.sessionId), ...draft.started].filter((child) =>
      rows.byId.has(child),
    );
    draft.children = [...new Set(below)].filter((child) => !drafts.has(child) && !open.includes(child));
    open.push(...draft.children);
  }
  return familyOf(rootSessionId, [...drafts.values()]);
}

interface Rows {
  readonly byId: ReadonlyMap<string, SessionSummary>;
  /** By parent, the oldest first; those of the same millisecond by their ids. */
  readonly forks: ReadonlyMap<string | undefined, readonly SessionSummary[]>;
}

async function rowsOf(journal: Journal): Promise<Rows> {
  const rows: SessionSummary[] = [];
  for await (const row of allSessions(journal)) rows.push(row);
  rows.sort((a, b) => a.createdAt - b.createdAt || (a.sessionId < b.sessionId ? -1 : 1));
  return {
    byId: new Map(rows.map((row) => [row.sessionId, row])),
    forks: Map.groupBy(rows, ({ parent }) => parent?.sessionId),
  };
}

/** The session that has nobody above it which is still there. */
async function rootOf(journal: Journal, { byId }: Rows, sessionId: string): Promise<string> {
  if (!byId.has(sessionId)) {
    throw new TreadleError('session_not_found', `There is no session ${sessionId} in this journal.`);
  }
  // An id that was free again may have been given anew: nobody is above themselves.
  const seen = new Set<string>();
  let root = sessionId;
  for (let above: string | undefined = sessionId; above !== undefined && byId.has(above) && !seen.has(above);) {
    root = above;
    seen.add(root);
    above = byId.get(root)?.parent?.sessionId ?? (await spawnerOf(journal, root));
  }
  return root;
}

async function spawnerOf(journal: Journal, sessionId: string): Promise<string | undefined> {
  for await (const event of journal.read(sessionId, 1)) {
    return event.type === 'session_created' ? event.spawnedBy?.sessionId : undefined;
  }
  return undefined;
}

/** A member while its family is being put together. */
interface Draft {
  readonly row: SessionSummary;
  readonly tree: SessionTree;
  readonly spent: Spending;
  /** Sessions that its calls have started. */
  readonly started: readonly string[];
  children: readonly string[];
}

/** Reads what a session has of its own. A fork whose parent is gone has all that it shares with it. */
async function readMember(
  journal: Journal,
  { byId }: Rows,
  row: SessionSummary,
  above: ReadonlyMap<string, Draft>,
): Promise<Draft> {
  const { sessionId, parent } = row;
  const isShared = parent !== undefined && above.has(parent.sessionId);
  const fold = sessionTreeFold();
  const started: string[] = [];
  let spent = NOTHING_SPENT;
  for await (const event of journal.read(sessionId, isShared ? parent.seq + 1 : 1)) {
    fold.take(event);
    spent = addSpending(spent, spentIn(event, byId));
    if ('childSessionId' in event && event.childSessionId !== undefined) started.push(event.childSessionId);
    // A task in the background may be a sub-agent: then there is a session of this name.
    if (event.type === 'task_updated' && event.task) started.push(childSessionId(sessionId, event.task.callId));
  }
  const tree = fold.tree();
  // What was open at the fork is closed in it, and is a run of its parent's.
  const known = new Set([...above.values()].flatMap(({ tree: { runs } }) => runs.map(({ runId }) => runId)));
  return {
    row,
    tree: { ...tree, runs: tree.runs.filter(({ runId }) => !known.has(runId)) },
    spent,
    started,
    children: [],
  };
}

/** What an event says was used in its own session: what branches used is in theirs, while they are there. */
function spentIn(event: DurableEvent, byId: Rows['byId']): Spending {
  if (event.type !== 'branches_ended') return spendingOf(event) ?? NOTHING_SPENT;
  const gone = event.branches?.filter((branch) => !byId.has(branch.sessionId)) ?? [];
  return spendingOf({ ...event, branches: gone }) ?? NOTHING_SPENT;
}

function familyOf(rootSessionId: string, drafts: readonly Draft[]): SessionFamily {
  const trees = linkSessions(drafts.map(({ tree }) => tree));
  const members = drafts.map((draft, index): FamilyMember => {
    const { row, spent, children: childSessionIds } = draft;
    const { sessionId, title = null } = row;
    const tree = trees[index] ?? draft.tree;
    const tie: FamilyTie = sessionId === rootSessionId ? { kind: 'root' } : tieOf(row, tree, trees);
    return { sessionId, title, tie, childSessionIds, tree, spent };
  });
  const runs = members.flatMap(({ tree }) => tree.runs).toSorted((a, b) => a.startedAt - b.startedAt);
  return { rootSessionId, members, runs, spent: drafts.map(({ spent }) => spent).reduce(addSpending, NOTHING_SPENT) };
}

function tieOf({ sessionId, parent }: SessionSummary, tree: SessionTree, trees: readonly SessionTree[]): FamilyTie {
  if (!parent) {
    if (!tree.parentSpawn) return { kind: 'root' };
    const { parentSessionId, parentRunId, callId, toolName } = tree.parentSpawn;
    return { kind: 'sub_agent', sessionId: parentSessionId, runId: parentRunId, callId, toolName };
  }
  for (const { runId, parallelGroup } of trees.find((each) => each.sessionId === parent.sessionId)?.runs ?? []) {
    if (parallelGroup?.branches.some((branch) => branch.sessionId === sessionId)) {
      const isSelected = parallelGroup.selectedSessionId === sessionId;
      return { kind: 'branch', sessionId: parent.sessionId, runId, isSelected };
    }
  }
  return { kind: 'fork', sessionId: parent.sessionId, seq: parent.seq };
}

/** The session of this id, or undefined. */
export const findMember = (family: SessionFamily, sessionId: string): FamilyMember | undefined =>
  family.members.find((member) => member.sessionId === sessionId);

/** The sessions that begin below this one, in the order in which they were made. */
export const childMembers = (family: SessionFamily, sessionId: string): FamilyMember[] =>
  (findMember(family, sessionId)?.childSessionIds ?? []).flatMap((id) => findMember(family, id) ?? []);

/** The other sessions below the one that this is below. */
export function siblingMembers(family: SessionFamily, sessionId: string): FamilyMember[] {
  const above = family.members.find(({ childSessionIds }) => childSessionIds.includes(sessionId));
  return above ? childMembers(family, above.sessionId).filter((member) => member.sessionId !== sessionId) : [];
}

/** What a session and all below it have used. */
export const familySpending = (family: SessionFamily, sessionId: string): Spending =>
  childMembers(family, sessionId)
    .map((child) => familySpending(family, child.sessionId))
    .reduce(addSpending, findMember(family, sessionId)?.spent ?? NOTHING_SPENT);
