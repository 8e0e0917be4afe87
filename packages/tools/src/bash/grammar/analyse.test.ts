import { describe, expect, test } from 'vitest';
import { analyseCommand } from './analyse.ts';

const named = async (text: string): Promise<string[]> =>
  (await analyseCommand(text)).named.map((words) => words.join(' '));

describe('plain words', () => {
  test.each<[string, string[][]]>([
    ['ls', [['ls']]],
    ['ls -la src', [['ls', '-la', 'src']]],
    ['git log -3 | head; pwd && true || false', [['git', 'log', '-3'], ['head'], ['pwd'], ['true'], ['false']]],
    ['ls\npwd\n', [['ls'], ['pwd']]],
    ['ls &&\n  pwd |\n wc', [['ls'], ['pwd'], ['wc']]],
    ['cat \\\n  a.txt \\\n  b.txt', [['cat', 'a.txt', 'b.txt']]],
    [`echo 'a b' "c d" e\\ f x"y"'z' ""`, [['echo', 'a b', 'c d', 'e f', 'xyz', '']]],
    [String.raw`echo "a \"b\" \\ \$c \n"`, [['echo', String.raw`a "b" \ $c \n`]]],
    ['grep -n "a|b" file 2>/dev/null', [['grep', '-n', 'a|b', 'file']]],
    ['ls >/dev/null 2>&1', [['ls']]],
    ['ls 2>&1 | tail -5', [['ls'], ['tail', '-5']]],
    ['# first look\nls # then\npwd', [['ls'], ['pwd']]],
    ['git show HEAD~2:a.txt', [['git', 'show', 'HEAD~2:a.txt']]],
    ['git diff HEAD@{1}', [['git', 'diff', 'HEAD@{1}']]],
    ['echo a2>/dev/null', [['echo', 'a2']]],
    ["echo 'ü' größe.txt", [['echo', 'ü', 'größe.txt']]],
  ])('%j', async (text, plain) => {
    expect(await analyseCommand(text)).toEqual({ plain, piped: expect.any(Array), named: expect.any(Array) });
  });
});

describe('more than plain words', () => {
  test.each([
    '$X',
    'ls \\ \\\na',
    'ls $HOME',
    'ls ${HOME}',
    'ls "$HOME"',
    'echo $((1+1))',
    'ls $(pwd)',
    'ls `pwd`',
    'echo "`pwd`"',
    'cat <(ls)',
    "echo $'a'",
    'echo $"a"',
    'ls *.ts',
    'ls a?',
    'ls [ab]',
    'ls {a,b}',
    'ls {1..3}',
    'ls ~',
    'ls ~/x',
    'ls a=~/x',
    'l[s]',
    'ls > out',
    'ls >> out',
    'ls 2> out',
    'ls > /dev/null/x',
    'ls > /dev/nullx',
    'cat < in',
    'ls &> out',
    'ls |& cat',
    'ls >&out',
    'cat <<E\nx\nE',
    'cat <<< x',
    'ls &',
    'ls & pwd',
    '(ls)',
    '{ ls; }',
    '! ls',
    'time ls',
    'coproc ls',
    'if true; then ls; fi',
    'while true; do ls; done',
    'for a in b; do ls; done',
    'case a in a) ls;; esac',
    'f() { ls; }',
    'function f { ls; }',
    '[ -f a ]',
    '[[ -f a ]]',
    '((1))',
    'A=1',
    'A=1 ls',
    'export A=1',
    'unset A',
    'ls;;',
    'ls &&',
    '&& ls',
    '| ls',
    "ls '",
    'ls "',
    'ls )',
    'l\\\ns',
    'ls\rpwd',
    'ls\u000bpwd',
    'ls\u00a0pwd',
    '',
    '   ',
    '# nothing',
  ])('%j', async (text) => {
    expect(await analyseCommand(text)).toMatchObject({ plain: null, reason: expect.stringMatching(/./) });
  });

  test('says why', async () => {
    expect((await analyseCommand('ls $HOME')).reason).toBe('it expands a variable');
    expect((await analyseCommand('ls &')).reason).toBe('it runs a command in the background');
    expect((await analyseCommand("ls '")).reason).toBe('it does not parse');
  });
});

describe('named commands', () => {
  test.each([
    ['$(rm a)'],
    ['echo `rm a`'],
    ['echo "x $(rm a)"'],
    ['cat <(rm a)'],
    ['(rm a)'],
    ['{ rm a; }'],
    ['! rm a'],
    ['rm a &'],
    ['if true; then rm a; fi'],
    ['while rm a; do :; done'],
    ['for x in y; do rm a; done'],
    ['case x in x) rm a;; esac'],
    ['f() { rm a; }'],
    ['X=1 rm a'],
    ['rm a > out'],
    ['/bin/rm a'],
    ['\\rm a'],
    [`r"m" 'a'`],
    [String.raw`$'\x72m' a`],
    ['r\\\nm a'],
    ['sudo rm a'],
    ['sudo -u root rm a'],
    ['env A=1 rm a'],
    ['timeout -k 5 10 rm a'],
    ['nice -n 5 rm a'],
    ['nohup nice timeout 5 rm a'],
    ['xargs -0 rm a'],
    ['command rm a'],
    ['exec rm a'],
    ['time rm a'],
    ['find . -exec rm a \\;'],
    ['find . -name x -execdir rm a +'],
    [`bash -c 'rm a'`],
    [`sh -ec "rm a"`],
    [`sudo bash -lc 'cd x && rm a'`],
    [`bash -c "sh -c 'rm a'"`],
    ['eval rm a'],
    ['eval "rm" a'],
    [`trap 'rm a' EXIT`],
    [`su -c 'rm a' x`],
    [`env -S 'rm a'`],
    ['env -Srm a'],
    [`env -iS'rm a'`],
    ['env --split-string=rm a'],
    [`env -S rm a`],
    [`timeout 5 env -S'env -Srm a'`],
    [`script -qc'rm a' log`],
    [`su x --command='rm a'`],
    ['sh <<E\nrm a\nE'],
    ['cat <<E | sh\nrm a\nE'],
    [`sh <<< 'rm a'`],
    [`echo 'rm a' | sh`],
    [`git -c alias.x='!rm a' x`],
    ['ls; ( echo; if x; then rm a'],
  ])('%j runs rm', async (text) => {
    expect(await named(text)).toContain('rm a');
  });

  test('words that are only known when they run are given as they are written', async () => {
    expect(await named('$X -rf "$Y"')).toEqual(['$X -rf "$Y"']);
  });

  test('a text for a shell inside that is more than plain words makes the analysis uncertain', async () => {
    for (const text of [`bash -c '$X a'`, `env -S '\${X}rm a'`, `eval 'r*m a'`]) {
      expect(await analyseCommand(text)).toMatchObject({ plain: [expect.anything()], uncertain: true });
    }
    expect(await analyseCommand(String.raw`env -S 'rm\_a'`)).toMatchObject({ plain: null });
    for (const text of [`bash -c 'ls a'`, `find . -name 'a b*'`, `grep '$X a' b`]) {
      expect((await analyseCommand(text)).uncertain).toBeUndefined();
    }
  });

  test('a text that is only written somewhere is no command', async () => {
    expect(await named('cat <<E\nrm a\nE')).toEqual(['cat']);
    expect(await named('echo "rm a"')).toEqual(['echo rm a']);
  });

  test('T18: the last of many is named as well, whatever their number', async () => {
    for (const count of [51, 500, 5000]) {
      const text = `${'true; '.repeat(count)}rm a`;
      const analysis = await analyseCommand(text);
      expect(analysis.plain).toHaveLength(count + 1);
      expect(analysis.named.at(-1)).toEqual(['rm', 'a']);
    }
    expect(await named(`echo ${'$(true) '.repeat(500)}$(rm a)`)).toContain('rm a');
    expect(await named(`sudo ${'-a x '.repeat(500)} rm a`)).toContain('rm a');
    expect(
      await named(Array.from({ length: 400 }, (_, n) => `bash -c 'echo ${n}'`).join(';') + `;bash -c 'rm a'`),
    ).toContain('rm a');
  });
});

describe('texts beyond the grammar', () => {
  test('over 64 KB are not parsed, and their words are named', async () => {
    const analysis = await analyseCommand(`echo ${'x'.repeat(70_000)}; rm a`);
    expect(analysis).toMatchObject({ plain: null, reason: 'it has over 65536 characters' });
    expect(analysis.named).toContainEqual(['rm', 'a']);
  });

  test.each([
    '$(',
    '(',
    '"',
    '`',
    '{a,',
    'if ',
    '<(',
    '${a:-',
    'f() { ',
    'cat <<A\n',
    '\\',
    '[[ ',
    '((',
    'sudo ',
    'a|',
  ])('%j without end is answered', async (part) => {
    // An odd number: pairs of quotes are words.
    const text = part.repeat(2 * Math.floor(10_000 / part.length) + 1);
    expect(await analyseCommand(text)).toMatchObject({ plain: null });
  });
});
