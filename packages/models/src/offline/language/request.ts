import { readCreate } from '../intents/create.ts';
import { readData } from '../intents/data.ts';
import { placeLast, readEdit } from '../intents/edit.ts';
import type { Job, Reading } from '../jobs.ts';
import { clausesOf, LONGEST_CLAUSE, type Clause } from './clauses.ts';
import { unmask } from './quotes.ts';

/** Words that ask about doing something, or forbid it: what follows them is not to be done. */
const NOT_ASKED =
  /^(?:do not|don't|dont|never|avoid|without|no need|stop|how (?:do|can|could|should|would|to|does one)|why|when|who|should (?:i|we|you)|what (?:if|happens|would|will)|did (?:you|i|we)|have you|is it|are you|if)\b/i;
/** Asks for nothing that the answer wouldn't say anyway. */
const SAY_IT =
  /^(?:(?:report|list|show|print|tell|give|say|return|answer|present|display|summari[sz]e|explain)(?: me| us| back)?(?: (?:to me|to us))?(?:,? ?(?:back|them|it|those|these|what you (?:find|found|did|learn(?:ed)?|have done)|(?:the |your |all )?(?:results?|findings?|names?|names and sizes|answers?|output|facts|figures|outcome|real facts)|with (?:the )?(?:real )?(?:facts|figures|results?)|exactly|in short|briefly|which)?)*)$/i;

/** Reads one clause. An earlier job gives `it`, `them` and `there` their meaning. */
function readClause(clause: Clause, reading: Reading): Job {
  if (clause.text.length > LONGEST_CLAUSE) return { kind: 'unclear', text: unmask(clause.text, clause.quotes) };
  const moved: Clause = { text: placeLast(clause.text), quotes: clause.quotes };
  const asked = !NOT_ASKED.test(moved.text) || /^how (?:many|often|long)/i.test(moved.text);
  const job = asked ? (readEdit(moved, reading) ?? readCreate(moved, reading) ?? readData(moved, reading)) : undefined;
  return job ?? { kind: 'unclear', text: unmask(clause.text, clause.quotes) };
}

/** Used to find where requests begin and end: everything may refer to something. */
const PERMISSIVE: Reading = { folder: '.', earlier: true };

function understands(clause: Clause): 'yes' | 'open' | 'no' {
  if (clause.text.length > LONGEST_CLAUSE) return 'no';
  if (clause.text === '' || SAY_IT.test(clause.text)) return 'yes';
  const job = readClause(clause, PERMISSIVE);
  if (job.kind === 'unclear') return 'no';
  return job.kind === 'create' && job.open ? 'open' : 'yes';
}

/** The clauses of a prompt that ask for something. */
export function requestClauses(prompt: string): readonly Clause[] {
  const known = new Map<string, ReturnType<typeof understands>>();
  const remembered = (clause: Clause): ReturnType<typeof understands> => {
    const answer = known.get(clause.text) ?? understands(clause);
    known.set(clause.text, answer);
    return answer;
  };
  const saysOnly = (text: string): boolean => text.length <= LONGEST_CLAUSE && SAY_IT.test(text);
  return clausesOf(prompt, remembered).filter((clause, i) => clause.text !== '' && !(i > 0 && saysOnly(clause.text)));
}

/** The jobs of a prompt, in order. `before` is what the conversation was about. */
export function readRequest(prompt: string, before: Reading): readonly Job[] {
  const jobs: Job[] = [];
  let reading = before;
  for (const clause of requestClauses(prompt)) {
    const job = readClause(clause, reading);
    jobs.push(job);
    if (job.kind !== 'unclear') reading = { folder: folderOf(job) ?? reading.folder, earlier: true };
  }
  return withoutRereading(jobs);
}

/** The folder a job is about, for `there`. */
export function folderOf(job: Job): string | undefined {
  switch (job.kind) {
    case 'describe':
    case 'search':
      return job.folder;
    case 'list':
      return job.selection.folder;
    case 'lists':
      return job.lists.at(-1)?.selection.folder;
    case 'figures':
      return job.target.by === 'selection' ? job.target.selection.folder : undefined;
    case 'create':
      return job.content.from === 'job' ? folderOf(job.content.job) : undefined;
    case 'edit':
      return job.target.by === 'folder' ? job.target.folder : undefined;
    case 'run':
    case 'unclear':
      return undefined;
  }
}

/** `read a.csv and count its rows` is one job: reading is not an end in itself. */
function withoutRereading(jobs: readonly Job[]): readonly Job[] {
  const kept: Job[] = [];
  for (const job of jobs) {
    const before = kept.at(-1);
    if (
      before?.kind === 'figures' &&
      job.kind === 'figures' &&
      before.onlyRead === true &&
      job.target.by === 'reference' &&
      job.target.reference.kind === 'it'
    ) {
      kept[kept.length - 1] = { ...job, target: before.target };
    } else kept.push(job);
  }
  return kept;
}
