import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Job, Reading } from '../jobs.ts';
import { mask, meant, unmask } from './quotes.ts';
import { readRequest } from './request.ts';
import { countOf } from './words.ts';

const FRESH: Reading = { folder: undefined, earlier: false };
const jobs = (prompt: string): readonly Job[] => readRequest(prompt, FRESH);

/** Names that say nothing by themselves, so that only the grammar can find them. */
const name = fc.stringMatching(/^[a-z]{3,8}$/).map((text) => `q${text}`);
const names = fc.record({ a: name, b: name, c: name });
type Names = { a: string; b: string; c: string };
/** Ways of asking politely, or not. */
const manner = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => `Please ${text}.`,
  (text) => `${text}, please`,
  (text) => `Can you ${text}?`,
  (text) => `OK, now ${text} for me.`,
  (text) => `I'd like you to ${text}`,
  (text) => `could you please ${text}? Thanks`.replace('? Thanks', '?'),
);

function expectAll(
  phrasings: readonly ((n: Names) => string)[],
  expected: (n: Names) => unknown,
  politely = false,
): void {
  for (const phrasing of phrasings) {
    fc.assert(
      fc.property(names, manner, (n, polite) => {
        const prompt = politely ? polite(phrasing(n)) : phrasing(n);
        const read = jobs(prompt);
        // The prompt is part of what is compared, so that a failure says which one it was.
        expect({ prompt, jobs: read }).toMatchObject({ prompt, jobs: [expected(n)] });
      }),
      { numRuns: 12 },
    );
  }
}

describe('requests about a folder', () => {
  it('ask what is in it', () => {
    expectAll(
      [
        (n) => `what is in ${n.a}/${n.b}`,
        (n) => `What's in the ${n.a}/${n.b} folder?`,
        (n) => `what is there in "${n.a}/${n.b}"?`,
        (n) => `describe the folder ${n.a}/${n.b}`,
        (n) => `summarise ${n.a}/${n.b}/`,
        (n) => `Summarize the ${n.a}/${n.b} directory`,
        (n) => `explore ${n.a}/${n.b}`,
        (n) => `look at ${n.a}/${n.b}`,
        (n) => `give me an overview of ${n.a}/${n.b}`,
        (n) => `tell me about the ${n.a}/${n.b} directory`,
        (n) => `list everything in ${n.a}/${n.b}`,
      ],
      (n) => ({ kind: 'describe', folder: `${n.a}/${n.b}` }),
    );
    expectAll(
      [
        'what is in this folder?',
        "What's here?",
        'ls',
        'describe this project',
        'list this project',
        'What is this project about?',
        'tell me what this project is about',
        'what does this project do?',
        'what do we have here',
        'look around',
        'Explain this repository',
      ].map((text) => () => text),
      () => ({ kind: 'describe', folder: '.' }),
    );
  });

  it('choose files by size, age, kind and name', () => {
    expectAll(
      [
        (n) => `list the three largest TypeScript files in ${n.a}`,
        (n) => `show me the 3 biggest typescript files under ${n.a}`,
        (n) => `find the three largest .ts files within the ${n.a} folder`,
        (n) => `give me the names of the three largest TypeScript files in ${n.a}`,
      ],
      (n) => ({
        kind: 'list',
        selection: {
          folder: n.a,
          order: 'largest',
          count: 3,
          kinds: [{ extensions: expect.arrayContaining(['ts']) as unknown }],
        },
      }),
      true,
    );
    expectAll(
      [
        (n) => `what are the two smallest files in ${n.a}?`,
        (n) => `which two files are the smallest in ${n.a}`,
        (n) => `the 2 smallest files in ${n.a}`,
      ],
      (n) => ({ kind: 'list', selection: { folder: n.a, order: 'smallest', count: 2 } }),
    );
    expectAll(
      [
        (n) => `which file is the largest in ${n.a}?`,
        (n) => `What is the largest file in ${n.a}?`,
        (n) => `the biggest file of ${n.a}`,
      ],
      (n) => ({ kind: 'list', selection: { folder: n.a, order: 'largest', count: 1 } }),
    );
    expectAll(
      [
        (n) => `how many markdown files are in ${n.a}?`,
        (n) => `count the Markdown files in ${n.a}`,
        (n) => `How many .md files are there under ${n.a}?`,
      ],
      (n) => ({ kind: 'list', countOnly: true, selection: { folder: n.a } }),
    );
    expectAll(
      [(n) => `where is ${n.a}.csv?`, (n) => `find the file ${n.a}.csv`, (n) => `find files named ${n.a}.csv`],
      (n) => ({ kind: 'list', selection: { also: [{ glob: `${n.a}.csv` }] } }),
    );
    expectAll(
      [(n) => `list the five most recently modified files in ${n.a}`, (n) => `the five newest files in ${n.a}`],
      (n) => ({ kind: 'list', selection: { folder: n.a, order: 'newest', count: 5 } }),
    );
    expectAll(
      [
        (n) => `names and sizes of the 4 largest files in ${n.a}`,
        (n) => `list the 4 largest files in ${n.a} with their sizes`,
      ],
      () => ({ kind: 'list', sizes: true, selection: { count: 4 } }),
    );
  });

  it('are not understood in half: a word too many means something else', () => {
    for (const prompt of [
      'the three largest files in docs that nobody reads',
      'list the two smallest purple files',
      'delete the three largest files in docs',
    ]) {
      expect([prompt, jobs(prompt)[0]?.kind]).toEqual([prompt, 'unclear']);
    }
  });
});

describe('requests to find a text', () => {
  it.each<[string, string, ((n: Names) => string)[]]>([
    [
      'lines',
      'lines',
      [
        (n) => `find "${n.a}" in ${n.b}`,
        (n) => `search for ${n.a} in ${n.b}`,
        (n) => `grep for ${n.a} in the ${n.b} folder`,
        (n) => `search ${n.b} for "${n.a}"`,
        (n) => `look for the word ${n.a} in ${n.b}`,
        (n) => `find all occurrences of ${n.a} in ${n.b}`,
        (n) => `where is ${n.a} used in ${n.b}?`,
        (n) =>
          `Find every place in ${n.b} where ${n.a} is called`.replace(
            `in ${n.b} where ${n.a} is called`,
            `where ${n.a} is called in ${n.b}`,
          ),
        (n) => `list all lines containing "${n.a}" in ${n.b}`,
      ],
    ],
    [
      'files',
      'files',
      [
        (n) => `which files mention ${n.a} in ${n.b}?`,
        (n) => `which files in ${n.b} mention "${n.a}"?`,
        (n) => `what files use ${n.a} in ${n.b}`,
        (n) => `find all files that contain "${n.a}" in ${n.b}`,
        (n) => `does any file in ${n.b} mention ${n.a}?`.replace(` in ${n.b}`, '').replace('?', ` in ${n.b}?`),
      ],
    ],
    [
      'the definition',
      'definition',
      [
        (n) => `where is ${n.a} defined in ${n.b}?`,
        (n) => `find the definition of ${n.a} in ${n.b}`,
        (n) => `find where ${n.a} is declared in ${n.b}`,
      ],
    ],
    [
      'the number',
      'count',
      [
        (n) => `how many times does ${n.a} occur in ${n.b}?`,
        (n) => `how often is "${n.a}" mentioned in ${n.b}`,
        (n) => `how many files mention ${n.a} in ${n.b}`,
        (n) => `count the occurrences of ${n.a} in ${n.b}`,
        (n) => `count how many lines mention ${n.a} in ${n.b}`,
      ],
    ],
  ])('for %s', (_, want, phrasings) => {
    expectAll(phrasings, (n) => ({ kind: 'search', text: n.a, folder: n.b, want }));
  });
});

describe('requests for figures', () => {
  it('of a column', () => {
    expectAll(
      [
        (n) => `what is the total of column ${n.a} in ${n.b}/${n.c}.csv`,
        (n) => `What is the sum of the ${n.a} column in ${n.b}/${n.c}.csv?`,
        (n) => `sum the ${n.a} column of ${n.b}/${n.c}.csv`,
        (n) => `total ${n.a} in ${n.b}/${n.c}.csv`,
        (n) => `calculate the total of "${n.a}" in the file ${n.b}/${n.c}.csv`,
        (n) => `in ${n.b}/${n.c}.csv, what is the total of ${n.a}?`,
      ],
      (n) => ({ kind: 'figures', target: { path: `${n.b}/${n.c}.csv` }, wanted: { statistics: ['sum'], column: n.a } }),
    );
    expectAll(
      [
        (n) => `minimum and maximum of ${n.a} in ${n.c}.csv`,
        (n) => `what are the lowest and highest ${n.a} in ${n.c}.csv?`,
      ],
      (n) => ({ wanted: { statistics: ['min', 'max'], column: n.a } }),
    );
    expectAll(
      [(n) => `average ${n.a} by ${n.b} in ${n.c}.csv`, (n) => `the mean of ${n.a} in ${n.c}.csv per ${n.b}`],
      (n) => ({ wanted: { statistics: ['average'], column: n.a, by: n.b } }),
    );
  });

  it('of lines, words and rows', () => {
    expectAll(
      [
        (n) => `count the lines of ${n.a}.md`,
        (n) => `how many lines does ${n.a}.md have?`,
        (n) => `how many lines are in ${n.a}.md`,
        (n) => `line count of ${n.a}.md`,
        (n) => `what is the number of lines in ${n.a}.md?`,
      ],
      (n) => ({ kind: 'figures', target: { path: `${n.a}.md` }, wanted: { counts: ['lines'] } }),
    );
    expectAll(
      [(n) => `count the lines and words in ${n.a}.md`, (n) => `how many lines and words are in ${n.a}.md?`],
      () => ({ wanted: { counts: ['lines', 'words'] } }),
    );
    expectAll([(n) => `count the lines of ${n.a}.md and ${n.b}.md`], (n) => ({
      target: { paths: [`${n.a}.md`, `${n.b}.md`] },
    }));
  });

  it('or a summary, or the text', () => {
    expectAll(
      [
        (n) => `summarise ${n.a}.txt`,
        (n) => `read ${n.a}.txt`,
        (n) => `what is in ${n.a}.txt?`,
        (n) => `what does ${n.a}.txt say?`,
        (n) => `summarise the figures in ${n.a}.txt`,
        (n) => `describe the file ${n.a}.txt`,
        (n) => `read ${n.a}.txt and summarise it`,
      ],
      (n) => ({ kind: 'figures', target: { path: `${n.a}.txt` }, wanted: { counts: [], statistics: [] } }),
    );
    expectAll(
      [(n) => `show me ${n.a}.txt`, (n) => `print the contents of ${n.a}.txt`, (n) => `cat ${n.a}.txt`],
      () => ({ wanted: { content: true } }),
    );
  });
});

describe('requests to create, change and run', () => {
  it('create a file with a text', () => {
    expectAll(
      [
        (n) => `create ${n.a}/${n.b}.md with the text "${n.c}, then more"`,
        (n) => `create a file called ${n.a}/${n.b}.md that says "${n.c}, then more"`,
        (n) => `write "${n.c}, then more" to ${n.a}/${n.b}.md`,
        (n) => `make a new file ${n.a}/${n.b}.md containing '${n.c}, then more'`,
        (n) => `save "${n.c}, then more" in ${n.a}/${n.b}.md`,
        (n) => `add a file ${n.a}/${n.b}.md with the content “${n.c}, then more”`,
      ],
      (n) => ({ kind: 'create', path: `${n.a}/${n.b}.md`, content: { from: 'text', text: `${n.c}, then more` } }),
      true,
    );
  });

  it('create a file from what another request finds', () => {
    const content = (n: Names): unknown => ({
      kind: 'create',
      path: `${n.b}.md`,
      content: { from: 'job', job: { kind: 'list', selection: { folder: n.a, order: 'largest', count: 3 } } },
    });
    expectAll(
      [
        (n) => `create ${n.b}.md with the names of the three largest files in ${n.a}`,
        (n) => `write the three largest files in ${n.a} to ${n.b}.md`,
        (n) => `save a list of the 3 biggest files under ${n.a} as ${n.b}.md`,
      ],
      content,
      true,
    );
    expectAll([(n) => `create ${n.b}.md with the files that mention ${n.c}`], (n) => ({
      content: { job: { kind: 'search', text: n.c, want: 'files' } },
    }));
    expectAll([(n) => `create ${n.b}.md with a summary of ${n.c}.csv`], (n) => ({
      content: { job: { kind: 'figures', target: { path: `${n.c}.csv` } } },
    }));
  });

  it('change a text', () => {
    expectAll(
      [
        (n) => `replace ${n.a} with ${n.b} in ${n.c}.ts`,
        (n) => `replace all occurrences of "${n.a}" by "${n.b}" in ${n.c}.ts`,
        (n) => `in ${n.c}.ts, replace ${n.a} with ${n.b}`,
        (n) => `change "${n.a}" to "${n.b}" in ${n.c}.ts`,
        (n) => `substitute ${n.b} for ${n.a} in ${n.c}.ts`.replace(`${n.b} for ${n.a}`, `${n.a} by ${n.b}`),
        (n) => `rename ${n.a} to ${n.b} in ${n.c}.ts`,
        (n) => `find ${n.a} in ${n.c}.ts and replace it with ${n.b}`,
      ],
      (n) => ({ kind: 'edit', target: { path: `${n.c}.ts` }, change: { kind: 'replace', from: n.a, to: n.b } }),
      true,
    );
  });

  it('run a command', () => {
    expectAll(
      [
        (n) => `run \`${n.a} --x; ${n.b}\``,
        (n) => `Run the command: ${n.a} --x; ${n.b}`,
        (n) => `execute "${n.a} --x; ${n.b}"`,
        (n) => `what does \`${n.a} --x; ${n.b}\` print?`,
        (n) => `use bash to run \`${n.a} --x; ${n.b}\``,
      ],
      (n) => ({ kind: 'run', command: `${n.a} --x; ${n.b}` }),
    );
    expectAll([(n) => `run ${n.a} --version`], (n) => ({ kind: 'run', command: `${n.a} --version` }));
  });
});

describe('several requests', () => {
  it('are split where one ends, and nowhere else', () => {
    const kinds = (prompt: string): string[] => jobs(prompt).map((job) => job.kind);
    expect(kinds('list the files in docs; count the lines of a.md and then run `ls`')).toEqual([
      'list',
      'figures',
      'run',
    ]);
    expect(kinds('First, find "a" in src. Second, create x.md with the text "b". Finally, run `ls`!')).toEqual([
      'search',
      'create',
      'run',
    ]);
    expect(kinds('1. what is in docs?\n2) read a.md\n- run `ls`')).toEqual(['describe', 'figures', 'run']);
    expect(kinds('find salt and pepper in docs')).toEqual(['search']);
    expect(kinds('create a.txt with the text Hello. How are you')).toEqual(['create']);
    expect(kinds('create a.txt with the text Hello. Then run `ls`')).toEqual(['create', 'run']);
    expect(kinds('find the largest file in src, read it, and count its words')).toEqual(['list', 'figures']);
    expect(kinds('list the two newest files and show me the results')).toEqual(['list']);
  });

  it('never do what was forbidden or only asked about', () => {
    for (const prompt of [
      "don't run `ls`",
      'never create x.md with the text "a"',
      'how can I replace a with b in c.txt?',
      'what happens if I run `ls`',
      'why run `ls`?',
      'should I run `ls`?',
      'without running `ls`, say hello',
    ]) {
      expect([prompt, ...new Set(jobs(prompt).map((job) => job.kind))]).toEqual([prompt, 'unclear']);
    }
  });
});

describe('a prompt that is long', () => {
  it.each<[string, string]>([
    ['and', 'create a.md with some text and the '.repeat(400)],
    ['and, short enough to be read', 'create a.md with some text and the '.repeat(11)],
    ['joins', 'find a and b, '.repeat(28)],
    ['blanks', `purr ${' '.repeat(20_000)}x`],
    ['quotation marks', `${'"'.repeat(3001)}${"'".repeat(3000)}${'`'.repeat(3001)}`],
    ['folders', `what is in ${'a/'.repeat(4000)}`],
    ['prose', 'Lorem ipsum dolor sit amet. '.repeat(3000)],
  ])('costs little, whatever it repeats: %s', (_, prompt) => {
    const read = jobs(prompt);
    expect(read.length).toBeGreaterThan(0);
    expect(read.every((job) => job.kind === 'unclear' || prompt.length < 400)).toBe(true);
  });

  it('may hold a long text in quotation marks', () => {
    const text = 'All work and no play, then more work; '.repeat(1000);
    expect(jobs(`create a.md with the text "${text}", then run \`ls\``)).toMatchObject([
      { kind: 'create', content: { text } },
      { kind: 'run', command: 'ls' },
    ]);
  });
});

describe('quotes', () => {
  it('come back as they were written, whatever they hold', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const masked = mask(text);
        // A typographic apostrophe outside of quotes is read as a straight one.
        expect(unmask(masked.text, masked.quotes).replaceAll('’', "'")).toBe(text.replaceAll('’', "'"));
      }),
    );
  });

  it('mean what is inside', () => {
    const inside = (text: string): string => {
      const masked = mask(text);
      return meant(masked.text, masked.quotes);
    };
    expect(['"a \'b\'"', "'it isn't so'", '`x "y"`', '“z”', '"a \\"b\\""', "what's here"].map(inside)).toEqual([
      "a 'b'",
      "it isn't so",
      'x "y"',
      'z',
      'a "b"',
      "what's here",
    ]);
  });
});

it.each([
  ['three', 3],
  ['12', 12],
  ['a couple of', 2],
  ['twenty', 20],
  ['many', undefined],
])('%s is %s', (words, value) => {
  expect(countOf(words)).toBe(value);
});
