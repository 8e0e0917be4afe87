import type { Job } from './jobs.ts';
import type { Action } from './script.ts';

/** How the model names itself in every answer. */
const SIGNATURE = "— Treadle's offline model (rule-based, no language model)";

const ABILITIES = `I can:
- say what is in a folder: "what is in this folder?", "the three largest files in src"
- find text: "which files mention \\"timeout\\"?", "where is parseConfig defined?"
- work out figures: "the total of amount in data/sales.csv", "count the lines of README.md"
- create a file or small page: "create notes/hello.md with the text \\"Hello\\""
- change text: "replace \\"foo\\" with \\"bar\\" in src/a.ts"
- run a command: "run \`npm --version\`"
Join several with "then".`;

const REAL_MODEL =
  'For anything else, use a language model: set ANTHROPIC_API_KEY and give `--model anthropic/…`, or OPENAI_API_KEY and `--model openai/…`.';

/** The final answer: what each job came to, and who says so. */
export function answerText(parts: readonly string[]): string {
  return [...parts, SIGNATURE].join('\n\n');
}

/** For a request that isn't understood. */
export function helpText(jobs: readonly Job[]): string {
  const [unclear] = jobs;
  const quoted = unclear?.kind === 'unclear' ? ` with "${shorten(unclear.text)}"` : '';
  const sorry = `I am Treadle's offline model: a few rules, not a language model. I don't know what to do${quoted}, so I did nothing.`;
  return [sorry, ABILITIES, REAL_MODEL, SIGNATURE].join('\n\n');
}

export function skippedText(what: string, why: 'unclear' | 'after a failure'): string {
  return why === 'unclear'
    ? `I did not understand "${shorten(what)}" and did nothing about it.`
    : `I left out ${shorten(what)}, because something before it did not work out.`;
}

export function failedText(reason: string): string {
  return `This did not work out: ${reason}`;
}

/** For a turn that may not call tools although something is left to do. */
export function unfinishedText(action: Action): string {
  const names = [...new Set(action.calls.map((call) => call.name))].map((name) => `\`${name}\``).join(', ');
  return answerText([
    `I am not done: I would have to call ${names} next, and no more tool calls are allowed in this turn. Ask again to go on.`,
  ]);
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}
