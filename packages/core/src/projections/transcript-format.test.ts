import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { transcriptMarkdown, transcriptText } from './transcript-format.ts';
import type { Transcript, TranscriptAttachment, TranscriptEntry, TranscriptTool } from './transcript.ts';

const place = { at: 0, runId: 'r' };
const user = (text: string, attachments: readonly TranscriptAttachment[] = []): TranscriptEntry => ({
  type: 'user',
  ...place,
  origin: 'prompt',
  isRuntime: false,
  text,
  attachments,
});
const assistant = (text: string, isComplete = true): TranscriptEntry => ({
  type: 'assistant',
  ...place,
  provider: 'p',
  model: 'm_1',
  text,
  thinking: '',
  attachments: [],
  stopReason: 'stop',
  isComplete,
});
const tool = (over: Partial<TranscriptTool>): TranscriptEntry => ({
  type: 'tool',
  ...place,
  callId: 'c',
  toolName: 'read',
  by: 'server',
  arguments: { path: 'a.txt' },
  status: 'ok',
  text: 'one\ntwo',
  attachments: [],
  durationMs: 3,
  ...over,
});
const note = (text: string): TranscriptEntry => ({ type: 'note', ...place, kind: 'ended', text });
const transcriptOf = (...entries: readonly TranscriptEntry[]): Transcript => ({
  sessionId: 's_1',
  title: 'A *title*',
  entries,
});

const image: TranscriptAttachment = { kind: 'image', mediaType: 'image/png', name: null, bytes: 12, url: null };

const EXAMPLE = transcriptOf(
  user('What is in a.txt?\n\nSay it.', [image]),
  assistant('Let me look.'),
  tool({}),
  tool({ toolName: 'pick', by: 'client', status: 'open', text: '', durationMs: null, arguments: {} }),
  assistant('Half', false),
  note('The run ended as aborted: Enough.'),
);

describe('a transcript as text', () => {
  it('reads well', () => {
    expect(transcriptText(EXAMPLE)).toBe(`User
  What is in a.txt?

  Say it.
  [image: image/png, 12 bytes]

Assistant (p/m_1)
  Let me look.

Tool read · ok · 3 ms
  {
    "path": "a.txt"
  }
  →
  one
  two

Tool pick · no result · by the client
  {}

Assistant (p/m_1) · cut off
  Half

[The run ended as aborted: Enough.]
`);
  });

  it('has only lines of its own outside of what was said, whatever was said', () => {
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 6 }), (entries) => {
        const own = transcriptText(transcriptOf(...entries))
          .split(/\r\n|\r|\n/)
          .filter((line) => line !== '' && !line.startsWith('  '));
        expect(own).toHaveLength(entries.length);
      }),
    );
  });
});

describe('a transcript as Markdown', () => {
  it('reads well', () => {
    expect(transcriptMarkdown(EXAMPLE)).toBe(`# A \\*title\\*

Session \`s_1\`

## User

> What is in a.txt?
>
> Say it.

\\[image: image/png, 12 bytes\\]

## Assistant (p/m\\_1)

> Let me look.

**Tool** \`read\` · ok · 3 ms

\`\`\`json
{
  "path": "a.txt"
}
\`\`\`

\`\`\`
one
two
\`\`\`

**Tool** \`pick\` · no result · by the client

\`\`\`json
{}
\`\`\`

## Assistant (p/m\\_1) · cut off

> Half

*The run ended as aborted: Enough.*
`);
  });

  it('has fences that nothing in them closes', () => {
    const text = transcriptMarkdown(transcriptOf(tool({ text: 'a\n```\n````js\n## User\n' })));
    expect(text).toContain('`````\na\n```\n````js\n## User\n\n`````\n');
  });

  it('has names of tools, of which a model makes up any, in one line', () => {
    expect(transcriptMarkdown(transcriptOf(tool({ toolName: 'a`b``\n# c' })))).toContain(
      '**Tool** ```a`b`` # c``` · ok',
    );
    expect(transcriptMarkdown(transcriptOf(tool({ toolName: '`' })))).toContain('**Tool** `` ` `` · ok');
  });

  it('gives back all that was said, and has no headings but its own', () => {
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 6 }), (entries) => {
        const { headings, said, fences } = blocksOf(transcriptMarkdown(transcriptOf(...entries)));
        expect(said).toEqual(entries.flatMap((entry) => saidIn(entry).map(lines)));
        expect(fences).toEqual(entries.flatMap((entry) => fencesOf(entry).map(lines)));
        const speakers = entries.filter(({ type }) => type === 'user' || type === 'assistant');
        expect(headings).toHaveLength(1 + speakers.length);
      }),
      { numRuns: 500 },
    );
  });
});

const lines = (text: string): string => text.replaceAll(/\r\n|\r/g, '\n');
const saidIn = (entry: TranscriptEntry): string[] =>
  (entry.type === 'user' || entry.type === 'assistant') && entry.text !== '' ? [entry.text] : [];
const fencesOf = (entry: TranscriptEntry): string[] => {
  if (entry.type !== 'tool') return [];
  const args = typeof entry.arguments === 'string' ? entry.arguments : JSON.stringify(entry.arguments, null, 2);
  return [args, ...(entry.text === '' ? [] : [entry.text])];
};

/** The blocks of a document as CommonMark has them, as far as a transcript uses them. */
function blocksOf(document: string): { headings: string[]; said: string[]; fences: string[] } {
  const [headings, said, fences] = [[] as string[], [] as string[], [] as string[]];
  let fence: { readonly mark: string; readonly lines: string[] } | null = null;
  let quote: string[] | null = null;
  for (const line of document.split(/\r\n|\r|\n/)) {
    const opening = /^(`{3,})[^`]*$/.exec(line)?.[1];
    if (fence) {
      if (line.startsWith(fence.mark) && /^`+ *$/.test(line)) {
        fences.push(fence.lines.join('\n'));
        fence = null;
      } else fence.lines.push(line);
      continue;
    }
    if (line.startsWith('>')) {
      quote = [...(quote ?? []), line.replace(/^> ?/, '')];
      continue;
    }
    if (quote) said.push(quote.join('\n'));
    quote = null;
    if (opening !== undefined) fence = { mark: opening, lines: [] };
    else if (/^ {0,3}#/.test(line)) headings.push(line);
  }
  expect(fence).toBeNull();
  return { headings, said, fences };
}

const anyText = fc.oneof(
  fc
    .array(fc.constantFrom('```', '````', '~~~', '> ', '## User', '\n', '\r', '\r\n', 'a', ' ', '  ', '<!--', '`'), {
      maxLength: 12,
    })
    .map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

const anyEntry: fc.Arbitrary<TranscriptEntry> = fc.oneof(
  anyText.map((text) => user(text)),
  anyText.map((text) => assistant(text)),
  fc.record({ toolName: anyText, text: anyText, arguments: fc.oneof(anyText, fc.record({ a: anyText })) }).map(tool),
  anyText.map((text) => note(`x${text}`)),
);
