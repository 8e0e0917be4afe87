import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const SDK = 'packages/treadle/src/agent-sdk/';

interface Line {
  readonly type?: string;
  readonly subtype?: string;
  readonly request_id?: string;
  readonly request?: { readonly subtype: string };
  readonly response?: { readonly subtype: string; readonly request_id: string };
}

interface Said {
  readonly by: 'client' | 'agent';
  readonly line: Line;
}

/** What both sides say in the transcripts that the tests have checked in. */
const transcripts: readonly (readonly Said[])[] = globSync(`${SDK}golden/*.jsonl`, { cwd: root })
  .toSorted()
  .map((file) =>
    read(file)
      .trim()
      .split('\n')
      .map((text) => ({ by: text.startsWith('>') ? 'client' : 'agent', line: JSON.parse(text.slice(2)) as Line })),
  );

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].toSorted();
const code = (name: string): string => `\`${name}\``;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, at) => (row[at] ?? '').padEnd(width)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

const STATES: Readonly<Record<string, string>> = {
  works: 'works',
  ignored: 'accepted, no effect',
};

/** What becomes of each flag, as the table of arguments has it, which the tests go through. */
function options(): string {
  const flags = [...read(`${SDK}arguments.ts`).matchAll(/^ {2}'?([\w-]+)'?: (works|ignored)\('/gm)];
  return table(
    ['flag', 'state'],
    flags.map(([, name = '', kind = '']) => [code(`--${name}`), STATES[kind] ?? '']),
  );
}

/** Requests of either side, by how they were answered. */
function requests(by: Said['by']): readonly (readonly string[])[] {
  const found = transcripts.flatMap((said) =>
    said.flatMap(({ by: who, line }) => {
      if (line.type !== 'control_request' || who !== by || !line.request) return [];
      const answers = said.filter(({ line: other }) => other.response?.request_id === line.request_id);
      return answers.map(({ line: { response } }) => ({
        name: line.request?.subtype ?? '',
        ok: response?.subtype === 'success',
      }));
    }),
  );
  return sorted(found.map(({ name }) => name)).map((name) => [
    code(name),
    found.some((one) => one.name === name && one.ok) ? 'works' : 'unsupported',
  ]);
}

function messages(): readonly (readonly string[])[] {
  const names = transcripts.flatMap((said) =>
    said.flatMap(({ by, line: { type = '', subtype } }) =>
      by === 'client' || type.startsWith('control_') ? [] : [subtype === undefined ? type : `${type}/${subtype}`],
    ),
  );
  return sorted(names).map((name) => [code(name), 'works']);
}

/** Every request that is answered, whether a transcript has it or not. */
function handled(): readonly string[] {
  const [, body = ''] = /const HANDLERS[^{]*\{\n([\s\S]*?)\n\};/.exec(read(`${SDK}requests/requests.ts`)) ?? [];
  return [...body.matchAll(/^ {2}(\w+)[:,]/gm)].map(([, name = '']) => name);
}

it('docs/agent-sdk.md has what becomes of every flag', () => {
  expect(read('docs/agent-sdk.md')).toContain(options());
});

it('docs/agent-sdk.md has the messages and requests of the transcripts', () => {
  const rows = [
    ...messages().map(([name = '', state = '']) => [name, 'message', state]),
    ...requests('agent').map(([name = '', state = '']) => [name, 'request to the client', state]),
    ...requests('client').map(([name = '', state = '']) => [name, 'request of the client', state]),
  ];
  expect(read('docs/agent-sdk.md')).toContain(table(['name', 'what it is', 'state'], rows));
});

it('docs/agent-sdk.md names every request that is answered', () => {
  const page = read('docs/agent-sdk.md');
  expect(handled().filter((name) => !page.includes(code(name)))).toEqual([]);
});
