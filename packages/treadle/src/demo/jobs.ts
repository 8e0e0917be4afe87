import { callTool, callTools, failureText, JobStopped, type Job } from './job.ts';
import { demoPrompt } from './prompt.ts';
import { bullets, capitalised, counted, lengthOf, listingOf, numberOf, placeOf, type Entry } from './text.ts';

/** A prompt that the demo model knows. */
interface KnownPrompt {
  /** Shown to users who ask for something else. */
  readonly example: string;
  readonly pattern: RegExp;
  readonly begin: (groups: Readonly<Record<string, string | undefined>>) => Job;
}

const IN_FOLDER = String.raw` in (?:this folder|(?<folder>\S+?))[.?]?$`;
const MAYBE_IN_FOLDER = String.raw`(?:${IN_FOLDER}|[.?]?$)`;
const COUNT = String.raw`(?:(?<count>\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten) )?`;

const KNOWN: readonly KnownPrompt[] = [
  {
    example: demoPrompt,
    pattern: new RegExp(`^${demoPrompt.replaceAll(/[.?]/g, String.raw`\$&`)}$`),
    begin: showOff,
  },
  {
    example: 'What is in this folder?',
    pattern: new RegExp(`^(?:what is|which files are|how many files are)${IN_FOLDER}`, 'i'),
    begin: ({ folder = '.' }) => describe(folder),
  },
  {
    example: 'What are the three largest files in docs?',
    pattern: new RegExp(`^(?:what (?:is|are) )?the ${COUNT}largest files?${MAYBE_IN_FOLDER}`, 'i'),
    begin: ({ count, folder = '.' }) => answerLargest(numberOf(count), folder),
  },
  {
    example: 'Create notes/largest.md with the names of the three largest files in docs',
    pattern: new RegExp(
      String.raw`^create (?<path>\S+) with the names of the ${COUNT}largest files?${MAYBE_IN_FOLDER}`,
      'i',
    ),
    begin: ({ path = '', count, folder = '.' }) => writeLargest(path, numberOf(count), folder),
  },
  {
    example: 'Create notes/hello.md with the text "Hello"',
    pattern: /^create (?<path>\S+) with the text "(?<text>[^]*)"\.?$/i,
    begin: ({ path = '', text = '' }) => write(path, text),
  },
  {
    example: 'Which files mention "timeout"?',
    pattern: new RegExp(String.raw`^which files mention "(?<text>.+)"${MAYBE_IN_FOLDER}`, 'i'),
    begin: ({ text = '', folder = '.' }) => search(text, folder),
  },
  {
    example: 'Count the lines of README.md',
    pattern: /^count the lines of (?<path>\S+?)\.?$/i,
    begin: ({ path = '' }) => countLines([path]),
  },
  {
    example: 'Run `npm --version`',
    pattern:
      /^run (?:`(?<quoted>[^`]+)`\.?|(?!(?:the|an?|all|my|our|this|these|it)\b)(?<plain>[^`]+?)(?:(?<=\S)\.)?)$/i,
    begin: ({ quoted, plain = '' }) => run(quoted ?? plain),
  },
];

/** The job of a prompt; undefined for a prompt that the demo model doesn't know. */
export function jobFor(prompt: string): Job | undefined {
  for (const { pattern, begin } of KNOWN) {
    const match = pattern.exec(prompt);
    if (match !== null) return begin(match.groups ?? {});
  }
  return undefined;
}

/** The answer to every other prompt. */
export const unknownPrompt =
  (): string => `I am a demo model: I have scripted replies to a few prompts, and I am no language model. I did nothing. Try one of these:

${bullets(KNOWN.map(({ example }) => example))}

For anything else, choose a language model. In a terminal, \`/login\` keeps the key of one. On the command line, set ANTHROPIC_API_KEY and add \`--model anthropic/claude-sonnet-5-5\`, or set OPENAI_API_KEY and add \`--model openai/gpt-6.1-sol\`. In a program, use \`model('anthropic/claude-sonnet-5-5')\` instead of \`demoModel()\`.`;

function* showOff(): Job {
  const described = yield* describe('.');
  const files = yield* largest(3, '.', '*.ts');
  const counted =
    files.length === 0 ? 'There are no TypeScript files.' : yield* countLines(files.map(({ path }) => path));
  const mentions = yield* search('demoModel', '.');
  return [described, largestText(files, '.', 'TypeScript file'), counted, mentions].join('\n\n');
}

function* describe(folder: string): Job {
  const list = (args: object) => ({ name: 'list_files', arguments: { path: folder, ...args } });
  const [top = '', all = ''] = yield* callTools(
    `Looking at ${placeOf(folder)}.`,
    list({ max_depth: 1 }),
    list({ max_depth: 30, sort: 'size', limit: 1 }),
  );
  const { entries, total } = listingOf(top);
  const files = listingOf(all);
  const [biggest] = files.entries;
  const holds = `${capitalised(placeOf(folder))} holds ${counted(files.total, 'file')}, subfolders included.`;
  if (biggest === undefined) return holds;
  const names = entries.map(({ path }) => path);
  return `${holds} The largest is ${biggest.path} (${counted(biggest.bytes, 'byte')}).\n\n${bullets(names, total)}`;
}

function* largest(count: number, folder: string, pattern?: string): Job<readonly Entry[]> {
  const args = { path: folder, sort: 'size', limit: count, max_depth: 30, ...(pattern !== undefined && { pattern }) };
  return listingOf(yield* callTool('Looking for the largest files.', 'list_files', args)).entries;
}

function largestText(files: readonly Entry[], folder: string, noun = 'file'): string {
  const place = placeOf(folder);
  if (files.length === 0) return `${capitalised(place)} holds no ${noun}s.`;
  const title = files.length === 1 ? `The largest ${noun}` : `The ${files.length} largest ${noun}s`;
  return `${title} in ${place}:\n\n${bullets(files.map(({ path, bytes }) => `${path} (${counted(bytes, 'byte')})`))}`;
}

function* answerLargest(count: number, folder: string): Job {
  return largestText(yield* largest(count, folder), folder);
}

function* writeLargest(path: string, count: number, folder: string): Job {
  const files = yield* largest(count, folder);
  if (files.length === 0) return `${largestText(files, folder)} I wrote nothing.`;
  return yield* write(path, `${bullets(files.map((file) => file.path))}\n`);
}

/** Writes a file. The tool refuses to replace a file that wasn't read, so an existing one is read first. */
function* write(path: string, content: string): Job {
  const call = { name: 'write_file', arguments: { path, content } };
  const [written] = yield { text: `Writing ${path}.`, calls: [call] };
  if (written?.isError !== true) return written?.text ?? '';
  if (!written.text.includes('Read it first')) throw new JobStopped(failureText(written));
  yield* callTool(`${path} exists. Reading it first.`, 'read_file', { path });
  const [replaced = ''] = yield* callTools(`Replacing ${path}.`, call);
  return replaced;
}

function* search(text: string, folder: string): Job {
  const pattern = text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  const found = yield* callTool(`Searching for "${text}".`, 'search', { pattern, path: folder, limit: 1000 });
  const lines = new Map<string, string[]>();
  for (const [, path = '', line = ''] of found.matchAll(/^(.+?):(\d+): /gm)) {
    lines.set(path, [...(lines.get(path) ?? []), line]);
  }
  if (lines.size === 0) return `No file in ${placeOf(folder)} mentions "${text}".`;
  const files = [...lines].map(([path, at]) => `${path}: ${at.length === 1 ? 'line' : 'lines'} ${at.join(', ')}`);
  const more = found.includes('there are more') ? ' There are more.' : '';
  return `"${text}" is in ${counted(lines.size, 'file')}.${more}\n\n${bullets(files)}`;
}

function* countLines(paths: readonly string[]): Job {
  const calls = paths.map((path) => ({ name: 'read_file', arguments: { path, limit: 1 } }));
  const pages = yield* callTools(`Reading ${counted(paths.length, 'file')}.`, ...calls);
  return bullets(pages.map((page, index) => `${paths[index]}: ${lengthOf(page)}`));
}

function* run(command: string): Job {
  return `The command ended.\n\n${yield* callTool(`Running ${command}.`, 'bash', { command })}`;
}
