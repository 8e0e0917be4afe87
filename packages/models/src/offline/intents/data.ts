import type { DataJob, Reading } from '../jobs.ts';
import type { Clause } from '../language/clauses.ts';
import type { Finding, Room, Script } from '../script.ts';
import { readRun, runScript } from './command.ts';
import { describeScript } from './describe.ts';
import { readFigures } from './figures-phrases.ts';
import { figuresScript } from './figures.ts';
import { listScript, listsScript, readDescribe, readList, readLists } from './list.ts';
import { readSearch, searchScript } from './search.ts';

/** Reads a request that finds something out, most particular first. */
export function readData(clause: Clause, reading: Reading): DataJob | undefined {
  return (
    readRun(clause) ??
    readFigures(clause, reading) ??
    readLists(clause, reading) ??
    readList(clause, reading) ??
    readDescribe(clause, reading) ??
    readSearch(clause, reading)
  );
}

/** Does it. */
export function dataScript(job: DataJob, room: Room): Script<Finding> {
  switch (job.kind) {
    case 'describe':
      return describeScript(job, room);
    case 'list':
      return listScript(job, room);
    case 'lists':
      return listsScript(job, room);
    case 'search':
      return searchScript(job, room);
    case 'figures':
      return figuresScript(job, room);
    case 'run':
      return runScript(job, room);
  }
}
