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

const list = (label: string, names: readonly string[]): string => `- ${label}: ${names.map(code).join(', ')}.`;

const STATES: Readonly<Record<string, string>> = {
  works: 'Works',
  ignored: 'Accepted, without an effect',
  unsupported: 'Refused at the start',
};

/** What becomes of each flag, as the table of arguments has it, which the tests go through. */
function options(): string {
  const flags = [...read(`${SDK}arguments.ts`).matchAll(/^ {2}'?([\w-]+)'?: (works|ignored|unsupported)\('/gm)];
  return Object.entries(STATES)
    .map(([kind, label]) => ({
      label,
      names: flags.flatMap(([, name = '', of]) => (of === kind ? [`--${name}`] : [])),
    }))
    .filter(({ names }) => names.length > 0)
    .map(({ label, names }) => list(label, names))
    .join('\n');
}

/** Requests of either side, by how they were answered. */
function requests(by: Said['by']): { readonly works: readonly string[]; readonly unsupported: readonly string[] } {
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
  const works = sorted(found.flatMap(({ name, ok }) => (ok ? [name] : [])));
  return { works, unsupported: sorted(found.map(({ name }) => name)).filter((name) => !works.includes(name)) };
}

function messages(): readonly string[] {
  const names = transcripts.flatMap((said) =>
    said.flatMap(({ by, line: { type = '', subtype } }) =>
      by === 'client' || type.startsWith('control_') ? [] : [subtype === undefined ? type : `${type}/${subtype}`],
    ),
  );
  return sorted(names);
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
  const { works, unsupported } = requests('client');
  const lists = [
    list('Messages', messages()),
    list('Requests to the client', requests('agent').works),
    list('Requests of the client', works),
    list('Unsupported', unsupported),
  ];
  expect(requests('agent').unsupported).toEqual([]);
  expect(read('docs/agent-sdk.md')).toContain(lists.join('\n'));
});

it('docs/agent-sdk.md names every request that is answered', () => {
  const page = read('docs/agent-sdk.md');
  expect(handled().filter((name) => !page.includes(code(name)))).toEqual([]);
});
