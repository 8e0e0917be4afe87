// Hostile shell commands: the root causes by which a table of commands was got past, and variations of them.

import fc from 'fast-check';

/**
 * What once ran unasked, or read outside, because a table said that it only reads. `{outside}` is a folder outside of the
 * working folder, which has `secret.txt`; the working folder has the links and files that they need.
 */
export const rootCauses: Readonly<Record<string, readonly string[]>> = {
  'find reads its expression after --': [
    `find -- . -maxdepth 0 -exec sh -c 'id > PWNED' ';'`,
    'find -- . -name victim -delete',
    `find -- . -maxdepth 0 -execdir sh -c 'id > PWNED' ';'`,
    'find -- . -maxdepth 0 -fprint PWNED',
  ],
  'test evaluates an index': [
    `test -- -a -v 'a[$(touch PWNED)]'`,
    `test ! -- -a -v 'a[$(touch PWNED)]'`,
    `test -v 'a[$(touch PWNED)]'`,
  ],
  'printf sets a variable': [
    `printf 'x%n' PATH; ls`,
    `printf '%5ln' GIT_DIR; git status`,
    `printf '%n' CDPATH && cd x`,
  ],
  'git runs programs of the repository': ['git status', 'git diff', 'git status sub', 'git diff --submodule=diff'],
  'a link is left by ..': ['cat out/../secret.txt', 'sort out/../secret.txt', 'tac in/../../{name}/secret.txt'],
  'diff follows links in folders': ['diff -N linked empty', 'diff -Nq empty linked'],
  'rg --files takes no pattern': ['rg --files {outside}', 'rg --files --hidden {outside}', 'rg --type-list {outside}'],
  'a file has several names': ['cat hard.txt', 'head -n 5 hard.txt', 'diff hard.txt a.txt'],
};

const programs: readonly (readonly [program: string, flags: readonly string[]])[] = [
  ['cat', ['-n', '-A', '-s']],
  ['head', ['-n', '5', '-c', '-5']],
  ['sort', ['-u', '-o', 'PWNED', '-k1', '--compress-program=./run', '-T', '.', '--output=PWNED']],
  ['uniq', ['-c', '-d']],
  ['grep', ['-r', '-R', '-n', 'SECRET', '-e', '-f', '-d', 'recurse', '--exclude-from={outside}/secret.txt']],
  ['rg', ['--files', '--pre', './run', '-L', '--hidden', 'SECRET', '-z', '--no-ignore', '--hostname-bin', '--debug']],
  ['find', ['-name', 'x', '-exec', 'touch', 'PWNED', ';', '-delete', '-fprintf', '-L', '-ok', '-printf', '-newer']],
  ['test', ['-v', `'a[$(touch PWNED)]'`, '-f', '!', '-a', '-o', '-R', '=', '-ef', '(', ')']],
  ['printf', [`'%n'`, `'x%n'`, 'PATH', '-v', 'PATH', '%s', `'%*n'`]],
  ['sed', ['-n', '1p', `'w PWNED'`, '-i', `'1e touch PWNED'`, '-s', '-f']],
  ['git', ['status', 'log', 'diff', '-p', '--ext-diff', '--textconv', '--output=PWNED', '--no-index', '-c', 'HEAD']],
  ['git', ['show', 'grep', '-O./run', '--open-files-in-pager=./run', 'blame', '--contents', 'tag', 'branch', 'x']],
  ['diff', ['-N', '-r', '-q', '--to-file=secret.txt', 'empty', 'linked']],
  ['ls', ['-l', '-a', '-R', '-L', '-H', '--hyperlink']],
  ['du', ['-a', '-L', '--files0-from=a.txt', '-X']],
  ['tree', ['-l', '-o', 'PWNED', '-L', '1', '--fromfile']],
  ['date', ['-f', '-s', '-r', '+%F', '--set=12:00']],
  ['stat', ['-L', '-c', '%n', '-f']],
  ['file', ['-m', '-f', '-z', '-C', '-b']],
  ['tail', ['-f', '-F', '-n', '+1', '--pid=1']],
  ['wc', ['-l', '--files0-from=a.txt']],
  ['readlink', ['-f', '-e']],
  ['md5sum', ['-c', '-b']],
  ['which', ['-a', 'ls', 'run']],
  ['cd', ['-', 'out', '..', 'sub', '-P']],
];

const operands = [
  ...['a.txt', 'sub', '.', '-', '--', 'out/../secret.txt', 'out', 'in/..', 'in/../../{name}/secret.txt', 'hard.txt'],
  ...['{outside}/secret.txt', '../{name}/secret.txt', '/etc/passwd', '~/.ssh/id_rsa', '/proc/self/environ', 'linked'],
  ...['linked/secret.txt', 'victim', '-exec', '$HOME', '$(touch PWNED)', '`touch PWNED`', '*', '{a.txt,sub}', '"$PWD"'],
];

const quotings: readonly ((word: string) => string)[] = [
  (word) => word,
  (word) => word,
  (word) => (/['"]/.test(word) ? word : `'${word}'`),
  (word) => (/["$`\\]/.test(word) ? word : `"${word}"`),
  (word) => (/^[a-z]/.test(word) ? `${word[0]}''${word.slice(1)}` : word),
  (word) => (/^[a-z]/.test(word) ? `\\${word}` : word),
];

const word = (from: readonly string[]): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom(...from), fc.constantFrom(...quotings)).map(([text, quote]) => quote(text));

const simple = fc.constantFrom(...programs).chain(([program, flags]) =>
  fc
    .array(fc.oneof({ weight: 3, arbitrary: word(flags) }, { weight: 4, arbitrary: word(operands) }), {
      maxLength: 4,
    })
    .map((words) => [program, ...words].join(' ')),
);

/** Where a root cause is, among other things that a shell reads. */
const around: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `ls -l && ${text}`,
  (text) => `${text} | cat`,
  (text) => `true; ${text} 2>/dev/null`,
  (text) => `cd sub && cd .. && ${text}`,
  (text) => `false || ${text}`,
  (text) => `${text} > PWNED`,
  (text) => `(${text})`,
  (text) => `echo $(${text})`,
  (text) => `X=1 ${text}`,
  (text) => `${text} &`,
  (text) => `if true; then ${text}; fi`,
  (text) => text.replaceAll(' ', '  '),
  (text) => text.replace(/^(\w)/, '\\$1'),
  (text) => text.replace(/^(\w+)/, "'$1'"),
  (text) => text.replace(' -- ', ' '),
  (text) => text.replace(' ', ' -- '),
];

/** One variation: a root cause in other words, or any command of the kind. */
export const variation: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...Object.values(rootCauses).flat()), fc.constantFrom(...around))
    .map(([text, change]) => change(text)),
  simple,
  fc.tuple(simple, fc.constantFrom(' && ', ' | ', '; ', ' || '), simple).map((parts) => parts.join('')),
);
