import type { RunJob } from '../jobs.ts';
import type { Clause } from '../language/clauses.ts';
import { soleQuote, unmask, type Quote } from '../language/quotes.ts';
import { callTool, JobStopped, type Finding, type Room, type Script } from '../script.ts';

const RUN =
  /^(?:(?:use|with|in|via) (?:the )?(?:bash|shell|terminal)(?: tool)?(?: to)?,? )?(?:run|execute|launch|call)(?: the)?(?: following)?(?: (?:shell|bash|terminal))?(?: command)?:? (.+?)(?: (?:in|with|using) (?:the |a )?(?:bash|shell|terminal|command line)(?: tool)?)?(?: and (?:show|tell|give) me (?:the |its )?(?:output|result|what it (?:prints|says)|exit code(?: and (?:the )?output)?))?$/i;
const OUTPUT =
  /^(?:(?:what is|what's|show me|give me|tell me|get|report|print) )?(?:the )?(?:output|result|exit code) of (?:(?:running|executing) )?(?:the command )?(.+)$/i;
const WHAT =
  /^(?:what|tell me what|show me what) (?:does|do|is) (.+?) (?:prints?|outputs?|says?|returns?|shows?|give(?:s| us)?|report|exit with)$/i;
const PRINTS = /^(?:tell me |show me )?what (.+?) (?:prints|outputs|says|returns|shows|reports)$/i;
/** The first word of a command that nobody quoted. */
const PROGRAM =
  /^(?!(?:the|a|an|my|our|your|this|that|these|those|it|them|all|every|some|any|tests?|unit|everything|away|out|into|through|over)\b)(?:\.{0,2}\/)?[a-z0-9_][\w./+-]*(?: |$)/;

/** Reads requests to run a shell command. Without quotes, the rest of the clause is the command. */
export function readRun(clause: Clause): RunJob | undefined {
  const run = RUN.exec(clause.text)?.[1];
  if (run !== undefined) {
    const quote = soleQuote(run, clause.quotes);
    if (quote !== undefined) return commandOf(quote);
    const command = unmask(run, clause.quotes).trim();
    return PROGRAM.test(command) ? { kind: 'run', command } : undefined;
  }
  const asked = OUTPUT.exec(clause.text)?.[1] ?? WHAT.exec(clause.text)?.[1] ?? PRINTS.exec(clause.text)?.[1];
  const quote = asked === undefined ? undefined : soleQuote(asked.replace(/^the command /i, ''), clause.quotes);
  // Asking about words in quotation marks isn't asking for a command; marked as code it is one.
  return quote === undefined || quote.kind === 'quoted' ? undefined : commandOf(quote);
}

function commandOf(quote: Quote): RunJob | undefined {
  const command = quote.value.trim().replace(/^\$ /, '');
  return command === '' ? undefined : { kind: 'run', command };
}

const SHOWN_LINES = 60;

/** Runs the command and says what it printed and how it ended. An exit code that isn't 0 ends the job as failed. */
export function* runScript(job: RunJob, room: Room): Script<Finding> {
  const text = yield* callTool(room, `Running \`${job.command.split('\n', 1)[0] ?? ''}\`.`, 'bash', {
    command: job.command,
  });
  // A command may have changed any file.
  room.read.clear();
  const outcome = parseOutcome(text);
  const notes = outcome.notes.map((note) => ` (${note})`).join('');
  const end = `\`${job.command}\` ended with exit code ${outcome.exitCode}${notes}`;
  const streams = [block('', outcome.stdout), block('On standard error', outcome.stderr)].filter((part) => part !== '');
  const report = streams.length === 0 ? `${end} and printed nothing.` : `${end}:\n${streams.join('\n')}`;
  if (outcome.exitCode !== '0') throw new JobStopped(`${report}\nSo it did not succeed.`);
  const lines = outcome.stdout === '' ? [] : outcome.stdout.split('\n');
  return {
    text: report,
    files: [],
    items: lines.map((line) => ({ text: line })),
    body: outcome.stdout === '' ? '' : `${outcome.stdout}\n`,
  };
}

function block(title: string, text: string): string {
  if (text === '') return '';
  const lines = text.split('\n');
  const rest = lines.length - SHOWN_LINES;
  const shown = rest > 0 ? [...lines.slice(0, SHOWN_LINES), `… and ${rest} more lines`] : lines;
  return `${title === '' ? '' : `${title}:\n`}\`\`\`\n${shown.join('\n')}\n\`\`\``;
}

/** What `bash` reported. */
interface Outcome {
  /** A number, `none` with the signal, or `unknown` when the tool didn't say. */
  readonly exitCode: string;
  readonly notes: readonly string[];
  readonly stdout: string;
  readonly stderr: string;
}

/** Reads `exit code N`, notes in brackets, then the sections `stdout` and `stderr`. */
function parseOutcome(text: string): Outcome {
  const code = /^exit code (-?\d+|none(?: \(\w+\))?)$/m.exec(text);
  const start = /^stdout:/m.exec(text);
  if (code === null || start === null)
    return { exitCode: code?.[1] ?? 'unknown', notes: [], stdout: text.trimEnd(), stderr: '' };
  const head = text.slice(code.index + code[0].length, start.index);
  // The last one: what the command printed may look like a section too.
  const end = text.lastIndexOf('\nstderr:');
  return {
    exitCode: code[1] ?? 'unknown',
    notes: [...head.matchAll(/^\[(.+)\]$/gm)].map((note) => note[1] ?? ''),
    stdout: sectionText(text.slice(start.index + start[0].length, end < 0 ? text.length : end)),
    stderr: end < 0 ? '' : sectionText(text.slice(end + '\nstderr:'.length)),
  };
}

function sectionText(text: string): string {
  return text === ' (empty)' ? '' : text.replace(/^\n/, '').trimEnd();
}
