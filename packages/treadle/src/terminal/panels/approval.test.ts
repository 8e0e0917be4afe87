import { expect, it } from 'vitest';

import { themeNamed } from '../screen/theme.ts';
import { approvalPanel } from './approval.ts';

const theme = themeNamed('none');

function panelFor(command: string, inRule = 'a.md', { diff = null as string | null, path = 'a.md' } = {}) {
  const rule = { behavior: 'allow', rules: [`bash(${inRule})`], type: 'addRules', destination: 'session' };
  const question = {
    approvalId: 'a',
    callId: 'c',
    toolName: 'bash',
    arguments: { command, ...(diff === null ? {} : { path }) },
    question: 'May it?',
  };
  return approvalPanel({
    question: { ...question, suggestions: [rule] } as never,
    label: 'Run a command',
    about: null,
    diff,
    answer: () => {},
    askWhy: async () => null,
    showAll: () => {},
    mayAnswer: () => true,
    changed: () => {},
  });
}

it('shows the beginning and the end of a long call, and how much is between them', () => {
  const command = Array.from({ length: 100 }, (_, index) => `echo ${index + 1}`).join('\n');
  const rows = panelFor(command).rows(60, 20, theme);
  const shown = rows.join('\n');
  expect(rows.length).toBeLessThanOrEqual(20);
  expect(shown).toMatch(/echo 1\n[^]*… \d+ more rows here, Ctrl\+F shows all\n[^]*echo 100\n/);
});

it('shows the whole rule that would be kept, and cuts it only where the call would have no room', () => {
  const path = 'a/long/path/'.repeat(12);
  const panel = panelFor('ls', path);
  expect(panel.rows(60, 30, theme).join('').replaceAll(' ', '')).toContain(`forthissession:bash(${path})`);
  const small = panel.rows(60, 9, theme);
  expect(small.length).toBeLessThanOrEqual(9);
  expect(small.join('\n')).toMatch(/command: ls\n[^]*1 {2}yes, once\n[^]*2 {2}yes, for this session: [^\n]*…\n/);
});

it('shows that there is more of a path than fits, and something of the change, however long the path is', () => {
  const panel = panelFor('ls', 'a.md', { diff: '+hello', path: 'deep/'.repeat(160) });
  const rows = panel.rows(60, 14, theme);
  expect(rows.length).toBeLessThanOrEqual(14);
  expect(rows.join('\n')).toMatch(/deep\/[^]*… Ctrl\+F shows all\n[^]*\+hello\n[^]*1 {2}yes, once/);
});
