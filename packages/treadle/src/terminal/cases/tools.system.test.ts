import { describe, it } from 'vitest';

import { forbidden } from '../../test-support/emulator.ts';
import { BUILT } from '../../test-support/process.ts';
import { figure, residentMb } from '../../test-support/process-figures.ts';
import { choose, STATUS, terminalWorld, times } from '../../test-support/terminal-world.ts';

const bash = (command: string) => ({ name: 'bash', arguments: { command } });
/** Rules under which commands run unasked. */
const ALLOWED = ['--allow', 'bash'];

/** An MCP server whose tool `wait` ends once the file NAME.go is there. */
const HELD_TOOL = String.raw`
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
const inputSchema = { type: 'object', properties: { name: { type: 'string' } } };
const tools = [{ name: 'wait', description: 'Waits.', inputSchema, annotations: { readOnlyHint: true } }];
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize')
    answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'held', version: '1' } });
  else if (method === 'tools/list') answer(id, { tools });
  else if (method === 'tools/call') {
    const { name } = params.arguments;
    const timer = setInterval(() => {
      if (!existsSync(name + '.go')) return;
      clearInterval(timer);
      answer(id, { content: [{ type: 'text', text: name + ' is over' }] });
    }, 20);
  } else console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }));
});
`;

describe.concurrent('tools', () => {
  it('6: shows five rows of a long output, then its beginning and end, and all of it in the pager', async ({
    expect,
  }) => {
    await using world = await terminalWorld([
      { toolCalls: [bash('echo ready')] },
      'Hello.',
      { toolCalls: [bash('for i in $(seq 5000); do echo line $i; [ $((i % 500)) = 0 ] && sleep 0.1; done')] },
      'Done.',
    ]);
    const terminal = world.open(ALLOWED, { command: BUILT });
    await terminal.shows(STATUS);
    // What the first command loads is no cost of a long one.
    terminal.type('Hi\r');
    await terminal.shows(/2 turns · /);
    const before = terminal.emulator.writes();
    const heldMb = residentMb(terminal.pid);
    terminal.type('Go\r');
    const during = await terminal.shows(/^ {2}line \d+$/m);
    expect(during.match(/^ {2}line \d+$/gm)?.length).toBeLessThanOrEqual(5);
    const after = await terminal.shows(/Done\.[^]* turns · /);
    figure('writes for 5,000 lines', terminal.emulator.writes() - before, 40, '', expect);
    figure('memory of 5,000 lines', residentMb(terminal.pid) - heldMb, 20, 'MB', expect);
    expect(after).toMatch(/^ {2}line 1$/m);
    expect(after).toMatch(/^ {2}line 5000$/m);
    expect(after).toContain('[#2 5,000 lines]');
    expect(after.match(/line \d+$/gm)?.length).toBeLessThanOrEqual(6);
    terminal.type('\u000f');
    await terminal.shows('q leaves');
    terminal.type('G');
    await terminal.shows(/^ *line 5000$/m);
    terminal.type('q');
    await terminal.shows(/2 turns · /);
    terminal.type('!');
    expect((await terminal.shows(/^> !$/m)).replace('> !', '>')).toBe(after);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('7: shows a tool while it runs, with its seconds, and one row when it has ended', async ({ expect }) => {
    await using world = await terminalWorld([{ toolCalls: [bash('sleep 2.2')] }, 'Done.']);
    const terminal = world.open(ALLOWED);
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows('• Run a command · sleep 2.2 · 1 s');
    const shown = await terminal.shows(/2 turns · /);
    expect(times(shown, 'sleep 2.2')).toBe(1);
    expect(shown).not.toContain('Esc interrupts');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('takes a rule back that was given for the folder: in the session and in its file', async ({ expect }) => {
    const touch = (name: string) => ({ toolCalls: [bash(`touch ${name}`)] });
    await using world = await terminalWorld([touch('one'), 'Done.', touch('one'), 'Again.', touch('one'), 'No.']);
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await choose(terminal, '3');
    await terminal.shows('Done.');
    terminal.type('Go on\r');
    await terminal.shows('Again.');
    const settings = '.treadle/settings.local.json';
    expect(await world.read(settings)).toContain('touch');
    terminal.type('/permissions\r');
    await terminal.shows(/allow {2}bash\(touch.*\(localSettings\)/);
    terminal.type('/permissions remove\r');
    await terminal.shows('Remove a rule');
    terminal.type('\r');
    await terminal.shows(/Removed: allow {2}bash/);
    expect(await world.read(settings)).not.toContain('touch');
    terminal.type('Once more\r');
    await terminal.shows('no, and say why');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('shows all of one result with /show, and ends a background task with /tasks', async ({ expect }) => {
    await using world = await terminalWorld([
      { toolCalls: [bash('seq 40')] },
      { toolCalls: [{ name: 'bash', arguments: { command: 'echo begun; sleep 600', run_in_background: true } }] },
      'It runs.',
      'It was ended.',
    ]);
    const terminal = world.open([...ALLOWED, '--background']);
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    await terminal.shows('[#1 40 lines]');
    await terminal.shows(/sleep 600 .*· in the\s+background · /);
    await terminal.shows(/⚙ In the background: .*sleep 600[^]* in the background · \d+ s/);
    terminal.type('/show 1\r');
    expect(await terminal.shows('Result #1')).toMatch(/^ *17$/m);
    terminal.type('q');
    terminal.type('\u001b');
    await terminal.shows('Esc again ends what runs in the background.');
    for (let shown = ''; !/^begun$/m.test(shown);) {
      terminal.type('/tasks\r');
      await terminal.shows('❯ Run a command · echo begun');
      terminal.type('\r');
      await terminal.shows('❯ show what it has put out');
      terminal.type('\r');
      // Its output is looked at a few times a second.
      shown = await terminal.shows(/^(?:begun|Nothing yet\.)\n[^]*\n>$/m);
    }
    terminal.type('/tasks\r');
    await terminal.shows('❯ Run a command · echo begun');
    terminal.type('\r');
    await terminal.shows('❯ show what it has put out');
    terminal.type('\u001b[B\r');
    await terminal.shows(/In the background: [^]*sleep 600[^]*· killed.* \[#2\]/);
    terminal.type('/tasks\r');
    await terminal.shows('Nothing runs in the background.');
    terminal.type('/show 9\r');
    await terminal.shows('There is no result #9');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('8: lists tools that run together in the order of the calls, whichever ends first', async ({ expect }) => {
    const names = ['one', 'two', 'three'];
    const calls = names.map((name) => ({ name: 'mcp__held__wait', arguments: { name } }));
    await using world = await terminalWorld([{ text: 'Three at once.', toolCalls: calls }, 'Done.']);
    await world.put('held.mjs', HELD_TOOL);
    await world.put('servers.json', JSON.stringify({ mcpServers: { held: { command: 'node', args: ['held.mjs'] } } }));
    const terminal = world.open(['--mcp-config', 'servers.json', '--allow', 'mcp__held__wait']);
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    const row = (name: string, end: string): RegExp => new RegExp(`^• .*\\b${name}\\b.*${end}`, 'm');
    for (const name of names) await terminal.shows(row(name, ' s$'));
    const above = (text: string): string => text.slice(0, text.indexOf('\n•'));
    const before = above((await terminal.emulator.lines()).join('\n'));
    expect(before).toContain('Three at once.');
    for (const name of ['three', 'one', 'two']) {
      await world.put(`${name}.go`, '');
      const shown = await terminal.shows(row(name, `(?:done|ok: ${name} is over)`));
      expect(shown.match(/^• .*\b(?:one|two|three)\b/gm)).toHaveLength(3);
      expect([...shown.matchAll(/^• .*?\b(one|two|three)\b/gm)].map(([, found]) => found)).toEqual(names);
      // What is finished stays as it is.
      expect(above(shown)).toBe(before);
    }
    const shown = await terminal.shows(/2 turns · /);
    expect([...shown.matchAll(/(\w+) is over/g)].map(([, name]) => name)).toEqual(names);
    expect(above(shown)).toBe(before);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('9: shows an edit as a diff with colours and three rows around it, and tells the model why not', async ({
    expect,
  }) => {
    const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`);
    await using world = await terminalWorld([
      { toolCalls: [{ name: 'read_file', arguments: { path: 'a.md' } }] },
      { toolCalls: [{ name: 'edit_file', arguments: { path: 'a.md', old_text: 'line 6', new_text: 'row six' } }] },
      'As you like.',
    ]);
    await world.put('a.md', lines.join('\n'));
    const terminal = world.open();
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    const asked = await terminal.shows(/4 {2}no, and say why/);
    expect(asked).toMatch(
      /a\.md[^]* line 3\n *line 4\n *line 5\n *-line 6\n *\+row six\n *line 7\n *line 8\n *line 9\n/,
    );
    expect(asked).not.toMatch(/^ *line (?:2|10)$/m);
    const runs = (await terminal.emulator.styledScreen()).flat();
    const colourOf = (text: string) => runs.find((run) => run.text.includes(text))?.colour;
    expect([colourOf('-line 6'), colourOf('+row six')]).toEqual([1, 2]);
    await new Promise((resolve) => setTimeout(resolve, 400));
    terminal.type('x');
    expect(times(await terminal.shows('Keys go to your draft.'), 'no, and say why')).toBe(1);
    // A letter begins a draft, and a digit after it is of it, too.
    terminal.type('4');
    await terminal.shows(/^> x4$/m);
    terminal.type('\u007f\u007f');
    await new Promise((resolve) => setTimeout(resolve, 400));
    terminal.type('4');
    await terminal.shows('No, because:');
    terminal.type('keep the line\r');
    await terminal.shows(/As you like\.[^]* turns · /);
    const answered = (await world.log()).flatMap((event) =>
      event.type === 'input_received' && event.input.type === 'approval_answer' ? [event.input] : [],
    );
    expect(answered).toMatchObject([
      { decision: 'reject', message: expect.stringContaining('keep the line') as string },
    ]);
    expect(JSON.stringify(world.provider.requests[2]?.body)).toContain('keep the line');
    expect(await world.read('a.md')).toBe(lines.join('\n'));
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('16: makes bytes that are no text harmless, and shows progress as one row', async ({ expect }) => {
    const odd = String.raw`printf 'odd \377\376\200 \0 end\n'; for i in 0 50 100; do printf '\rprogress %s%%' $i; done; printf '\nnext row\n'`;
    await using world = await terminalWorld([{ toolCalls: [bash(odd)] }, { text: 'A lone \ud800 one.' }]);
    const terminal = world.open(ALLOWED);
    await terminal.shows(STATUS);
    terminal.type('Go\r');
    const shown = await terminal.shows(/2 turns · /);
    expect(shown).toMatch(/^ {2}odd ��� \S* end$/m);
    expect(shown).toMatch(/^ {2}progress 100%$/m);
    expect(shown).toMatch(/^ {2}next row$/m);
    expect(shown).toContain('A lone');
    expect((await world.log()).at(-1)?.type).toBe('run_ended');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
  });

  it('17: lets nothing through that a terminal would obey, wherever it comes from', async ({ expect }) => {
    const evil = [
      '\u001b]52;c;ZXZpbA==\u0007',
      '\u001b]0;evil title\u0007',
      '\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007',
      '\u001bP$q"p\u001b\\',
      '\u001b[6n',
      '\u001b[2J',
      '\u001bc',
      '\u009b2J',
      '\u202eevil',
      '\u001b]0;never ended',
    ].join(' ');
    const file = 'file\u001b[2J\u009b6n\u202e.txt';
    await using world = await terminalWorld([
      {
        thinking: `Thinking ${evil}`,
        text: `Text ${evil}\n\n\`\`\`sh\ncode ${evil}\n\`\`\`\n\n| a |\n| - |\n| ${evil} |\n\n[there](https://evil.example "${evil}")`,
        toolCalls: [
          { name: 'bash', arguments: { command: `echo '${evil}'` } },
          { name: 'read_file', arguments: { path: evil } },
          { name: evil, arguments: { [evil]: evil } },
        ],
      },
      { text: 'Done.', toolCalls: [{ name: 'write_file', arguments: { path: 'b.md', content: evil } }] },
      `After all ${evil}`,
    ]);
    await world.put(file, 'x');
    await world.put('file.txt', 'x');
    await world.put(`.treadle/commands/evil.md`, `---\ndescription: ${JSON.stringify(evil)}\n---\nSay ${evil}`);
    const terminal = world.open([...ALLOWED, '--trust']);
    await terminal.shows(/anthropic\/x · default|\[y\/n/);
    if ((await terminal.emulator.lines()).join('\n').includes('[y/n')) terminal.type('y\r');
    await terminal.shows(STATUS);
    terminal.type('@file');
    expect(await terminal.shows('❯ @file.txt')).not.toContain('[2J');
    terminal.type('\u001b');
    await terminal.shows(/^> @file\nanthropic/m);
    terminal.type('\u0015Go\r');
    await choose(terminal, '1');
    const shown = await terminal.shows(/After all[^]* turns · /);
    expect(shown).toMatch(/^>$/m);
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
    expect(terminal.emulator.title()).not.toContain('evil');
    terminal.type('\u000f');
    await terminal.shows('q leaves');
    terminal.type('q/evil');
    await terminal.shows('/evil');
    expect(forbidden(terminal.emulator.raw())).toEqual([]);
    const sent = [
      '\u001b]11;?\u0007',
      '\u001b]0;treadle · project\u0007',
      '\u001b]0;waits · treadle · project\u0007',
    ].reduce((rest, ours) => rest.replaceAll(ours, ''), terminal.emulator.raw());
    expect(sent).not.toMatch(/\u202e|\u001b\]|\^\[/); // oxlint-disable-line eslint/no-control-regex -- what nobody may send
  });
});
