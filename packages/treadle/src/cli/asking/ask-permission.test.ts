import { Readable, Writable } from 'node:stream';

import { expect, it } from 'vitest';

import { askPermission, type ApprovalQuestion } from './ask-permission.ts';
import { createPrinter } from '../io.ts';
import { readLines } from './terminal.ts';

/** What is shown for a call, when the answer is no. */
async function shown(
  call: { readonly toolName: string; readonly arguments: Readonly<Record<string, unknown>> },
  question: Partial<ApprovalQuestion> = {},
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
  const terminal = { isThere: true, ask: async () => lines.next() };
  const asking = { terminal, out, stopped: new Promise(() => {}), isStopped: () => false };
  const asked = { type: 'approval_requested', question: 'May it?', ...question } as ApprovalQuestion;
  const pending = { type: 'approval', callId: 'c', approvalId: 'a', question: 'May it?', ...call } as const;
  await askPermission({ ...pending, arguments: call.arguments as never }, asked, asking, null);
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
