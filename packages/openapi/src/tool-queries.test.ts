import { describe, expect, it } from 'vitest';

import { realTools } from './test-support/real-tools.ts';
import { toolQueries } from './test-support/tool-queries.ts';

/** Words that say nothing about what a tool does. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  'a all an and are as be by can do does for from has have how i if in is it its me my of on one or our that the this to was what when where which who with'.split(
    ' ',
  ),
);

/** The content words of a name or a query: `ListKey` has `list` and `key`. */
const contentWords = (text: string): readonly string[] => [
  ...new Set(
    text
      .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter((word) => word.length > 1 && !FUNCTION_WORDS.has(word)),
  ),
];

/** Whether two words differ by their endings only, such as `invites` and `invited`. */
function isSame(one: string, other: string): boolean {
  let common = 0;
  while (common < one.length && one[common] === other[common]) common += 1;
  const [short, long] = [Math.min(one.length, other.length), Math.max(one.length, other.length)];
  return common >= 3 && common >= short - 2 && long - common <= 5;
}

const sharedWords = ({ tool, query }: { readonly tool: string; readonly query: string }): readonly string[] =>
  contentWords(query).filter((word) => contentWords(tool).some((named) => isSame(word, named)));

describe('the queries for real tools', () => {
  const { development, heldOut } = toolQueries();
  const all = [...development, ...heldOut];

  it('are a hundred, for a hundred different tools of a thousand', () => {
    const names = new Set(realTools().map(({ name }) => name));
    expect(names.size).toBe(1000);
    expect(all.filter(({ tool }) => !names.has(tool))).toEqual([]);
    expect(new Set(all.map(({ tool }) => tool)).size).toBe(100);
    expect([development.length, heldOut.length]).toEqual([50, 50]);
  });

  it('have at most one content word of the name of their tool', () => {
    expect(
      all.map((each) => ({ ...each, shared: sharedWords(each) })).filter(({ shared }) => shared.length > 1),
    ).toEqual([]);
    expect(sharedWords({ tool: 'twilio__DeleteSigningKey', query: 'deleted signing keys' })).toHaveLength(3);
  });
});
