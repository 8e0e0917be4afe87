import { childMembers, findMember, type FamilyMember, type SessionFamily } from '@treadle/core/history';

import { cost, counted } from '../output/figures.ts';
import { plainLine } from '../asking/plain-text.ts';

/**
 * A session's family for people: a line per session, those below it indented.
 *
 * @param current the session that is marked
 * @param names what sessions without a title are called
 */
export function familyLines(family: SessionFamily, current?: string, names?: ReadonlyMap<string, string>): string {
  const lines: string[] = [];
  const open = [{ id: family.rootSessionId, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { id, depth } = next;
    const member = findMember(family, id);
    if (!member) continue;
    const mark = current === undefined ? '' : id === current ? '● ' : '  ';
    const title = member.title ?? names?.get(id) ?? null;
    lines.push(`${mark}${'  '.repeat(depth)}${lineOf({ ...member, title })}`);
    const below = childMembers(family, id).map(({ sessionId }) => ({ id: sessionId, depth: depth + 1 }));
    open.push(...below.reverse());
  }
  const sum = family.spent.cost === null ? '?' : cost(family.spent.cost);
  const all = `${counted(family.members.length, 'session')}, ${counted(family.runs.length, 'run')}, ${sum}`;
  return [...lines, '', all].join('\n');
}

function lineOf(member: FamilyMember): string {
  const { sessionId, title, tree, spent } = member;
  const price = spent.cost === null ? '?' : cost(spent.cost);
  const facts = [sessionId, tieOf(member), counted(tree.runs.length, 'run'), price];
  return [...facts, ...(title === null ? [] : [plainLine(title, 60)])].filter((fact) => fact !== '').join('  ');
}

function tieOf({ tie, tree }: FamilyMember): string {
  if (tie.kind === 'root') return '';
  if (tie.kind === 'branch') return tie.isSelected ? 'branch, selected' : 'branch';
  if (tie.kind === 'sub_agent') return `sub-agent of ${plainLine(tie.toolName, 40)}`;
  const how = tree.runs[0]?.continuation?.kind;
  return how === 'rerun' || how === 'branch' ? `${how} at ${tie.seq}` : `fork at ${tie.seq}`;
}

/** The same for programs. */
export const familyJson = ({ rootSessionId, members, spent }: SessionFamily): object => ({
  rootSessionId,
  sessions: members.map(({ sessionId, title, tie, childSessionIds, tree, spent: own }) => ({
    sessionId,
    title,
    tie,
    childSessionIds,
    runs: tree.runs.map(({ runId, parentRunId, continuation, status, endStatus, usage, cost: dollars }) => ({
      runId,
      parentRunId,
      continuation,
      status,
      endStatus,
      usage,
      cost: dollars,
    })),
    ...own,
  })),
  ...spent,
});
