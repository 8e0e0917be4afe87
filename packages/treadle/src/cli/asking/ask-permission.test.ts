import { Readable, Writable } from 'node:stream';

import { expect, it } from 'vitest';

import { askPermission, type ApprovalQuestion } from './ask-permission.ts';
import { createPrinter } from '../io.ts';
import { styleFor } from '../style.ts';
import { readLines } from './terminal.ts';

/** What is shown for a call, when the answer is no. */
async function shown(
  call: { readonly toolName: string; readonly arguments: Readonly<Record<string, unknown>> },
  question: Partial<ApprovalQuestion> = {},
  diff: string | null = null,
): Promise<string> {
  let screen = '';
  const write = new Writable({
    write(chunk: Buffer, _, done) {
      screen += chunk.toString();
      done();
    },
  });
  const out = createPrinter(Object.assign(write, { isTTY: true }));
  const lines = readLines(Readable.from([Buffer.from('n\n')]));
  const ask = (): Promise<string | null> => lines.next();
  const terminal = { isThere: true, ask, askSecret: ask, forget: () => {} };
  const asking = {
    terminal,
    out,
    style: styleFor(diff !== null, {}),
    stopped: new Promise(() => {}),
    isStopped: () => false,
  };
  const asked = { type: 'approval_requested', question: 'May it?', ...question } as ApprovalQuestion;
  const pending = { type: 'approval', callId: 'c', approvalId: 'a', question: 'May it?', ...call } as const;
  await askPermission({ ...pending, arguments: call.arguments as never }, asked, asking, { about: null, diff });
  await out.flushed();
  return screen;
}

it('shows every part of a question as it is: names, values, the reason and the rules that would be added', async () => {
  const rules = ['pay\u200b(a\u2028b)', `pay(${'x'.repeat(500)}  y)`];
  const screen = await shown(
    {
      toolName: 'pay\u202e',
      arguments: { 'to\nb: y': 'x\u00ad', 'am\u2066ount': { 'k\u3164': ['\u001b[2J', '\u{e0041}'] } },
    },
    {
      question: 'The rule pay\u200b\nwants it',
      suggestions: [{ type: 'addRules', rules, behavior: 'allow', destination: 'session' }],
    },
  );
  const long = 'x'.repeat(500);
  expect(screen).toBe(
    String.raw`
pay\u{202e}
  to\u{a}b: y: x\u{ad}
  am\u{2066}ount: {"k\u{3164}":["\u001b[2J","\u{e0041}"]}
The rule pay\u{200b}\u{a}wants it
Characters of it that do not show are written as \u{…}.
  y  yes, this once
  n  no; words after it are told to the model
  s  always in this session: pay\u{200b}(a\u{2028}b), pay(${long}  y)
  a  always in this folder, kept in .treadle/settings.local.json: pay\u{200b}(a\u{2028}b), pay(${long}  y)
`,
  );
});

it('says that there are escapes, and not so of the same letters in a call', async () => {
  const one = await shown({ toolName: 'bash', arguments: { command: 'rm\u00a0-rf' } });
  expect(one).toContain('  command: rm\\u{a0}-rf\n');
  expect(one).toContain('Characters of it that do not show are written as \\u{…}.\n');
  expect(await shown({ toolName: 'bash', arguments: { command: 'rm\\u{a0}-rf' } })).not.toContain('do not show');
});

it('shows a change of a file as a coloured diff, whole and exact, instead of the texts', async () => {
  const diff = `--- a.md\n+++ a.md\n@@ -1,2 +1,2 @@\n \tkept\n-${'x'.repeat(900)}\n+\u202enew`;
  const screen = await shown(
    { toolName: 'edit_file', arguments: { path: 'a.md', old_text: 'x', new_text: 'new', other: 1 } },
    {},
    diff,
  );
  expect(screen).toContain(
    `\nedit_file\n  other: 1\n  \u001b[2m--- a.md\u001b[22m\n  \u001b[2m+++ a.md\u001b[22m\n  \u001b[2m@@ -1,2 +1,2 @@\u001b[22m\n` +
      `   \tkept\n  \u001b[31m-${'x'.repeat(900)}\u001b[39m\n  \u001b[32m+\\u{202e}new\u001b[39m\nMay it?\n`,
  );
});
