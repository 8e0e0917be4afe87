// What the model of the benchmark does, as data: the server plays it, and the measurements check that it arrived whole.

/** A scenario is the name of the model that is asked: `text-20000`, `turns-50`, `parallel-64`, `argument-1000000`. */
export type Scenario = `${ScenarioKind}-${number}`;

/** Text deltas; turns with one call each; calls in one turn; characters of one call's argument. */
export type ScenarioKind = 'text' | 'turns' | 'parallel' | 'argument';

export const INSTRUCTIONS = 'You write and look after code. Use the tools where they help, and answer in few words.';
export const PROMPT = 'Work through the list with your tools, then tell me what you did.';
export const FINAL_ANSWER = 'Everything on the list is done; nothing was left over.';

/** Characters of a text delta, and of a piece of arguments. */
export const PIECE_LENGTH = 20;

/** Milliseconds the tool of the parallel scenario takes. */
export const WAIT_MS = 20;

/** Where the server says how requests of a long run continued the one before. */
export const UNREPEATED_PATH = '/bench/unrepeated';

/** Calls from which on a run of turns is a long one. */
export const LONG_RUN = 400;

const SCENARIO = /^(text|turns|parallel|argument)-(\d+)$/;

export function parseScenario(name: string): { readonly kind: ScenarioKind; readonly size: number } | null {
  const match = SCENARIO.exec(name);
  if (!match) return null;
  return { kind: match[1] as ScenarioKind, size: Number(match[2]) };
}

/** The text of one delta, of always the same length. */
export const deltaText = (index: number): string =>
  ` figure ${index % 1000} of many more`.slice(0, PIECE_LENGTH).padEnd(PIECE_LENGTH, '.');

/** Text that looks like a source file, with the quotes and line ends that JSON must escape. */
export function fileContent(length: number): string {
  const lines: string[] = [];
  for (let written = 0, number = 1; written < length; number++) {
    const line = `export const step${number} = task("step ${number}", { after: [${number - 1}] });\n`;
    lines.push(line);
    written += line.length;
  }
  return lines.join('').slice(0, length);
}

export function pieces(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += PIECE_LENGTH) parts.push(text.slice(at, at + PIECE_LENGTH));
  return parts;
}
