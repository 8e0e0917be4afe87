import { flags, taking, type CommandRule } from './rule.ts';

const number = /^[-+]?\d+$/;
const format = /^[^]*$/;

/** Options with a value that `grep` and `rg` share. */
const common = {
  ...taking('pattern', '-e --regexp'),
  ...taking(number, '-m --max-count -A -B -C --after-context --before-context --context'),
} as const;

/** What `grep` and its relatives share. */
const grep = {
  flags: flags(
    '-E -F -G -P -i -v -w -x -c -l -L -o -q -s -b -H -h -n -T -Z -a -I -r -y -z --extended-regexp --fixed-strings ' +
      '--basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count ' +
      '--files-with-matches --files-without-match --only-matching --quiet --silent --no-messages --byte-offset ' +
      '--with-filename --no-filename --line-number --initial-tab --null --text --recursive --line-buffered',
  ),
  values: {
    ...common,
    ...taking('text', '--include --exclude --exclude-dir --binary-files'),
    ...taking(/^(?:read|skip)$/, '-d -D'),
  },
  optional: taking(/^(?:never|auto|always)$/, '--color --colour'),
  numbers: true,
  operands: 'pattern, paths',
  atLeast: 0,
  filter: true,
} as const;

/** Programs that search, and only that. */
export const searchRules: readonly CommandRule[] = [
  {
    command: 'grep',
    ...grep,
    match: ['grep -rn main src', 'grep -e a -e b file', 'grep -A3 --include=*.ts x .', 'grep -5 x'],
    noMatch: [
      'grep -R x .',
      'grep -f patterns a',
      'grep --dereference-recursive x',
      'grep --exclude-from=a x',
      'grep -d recurse x',
    ],
  },
  { command: 'egrep', ...grep, match: ['egrep a|b c'], noMatch: ['egrep -R x'] },
  { command: 'fgrep', ...grep, match: ['fgrep a c'], noMatch: ['fgrep -f x'] },
  {
    command: 'rg',
    flags: flags(
      '-F -i -s -S -v -w -x -c -l -o -q -H -I -n -N -U -P -a -p -0 -u -. --fixed-strings --ignore-case --case-sensitive ' +
        '--smart-case --invert-match --word-regexp --line-regexp --count --count-matches --files-with-matches ' +
        '--files-without-match --only-matching --quiet --with-filename --no-filename --line-number --no-line-number ' +
        '--multiline --pcre2 --text --pretty --hidden --no-ignore --no-ignore-vcs --files --json --heading --no-heading ' +
        '--column --vimgrep --stats --trim --no-messages --no-config --type-list --unrestricted --null',
    ),
    values: {
      ...common,
      ...taking('text', '-g --glob --iglob -t -T --type --type-not --sort --sortr -r --replace --color'),
      ...taking(number, '--max-depth -d -M --max-columns -j'),
    },
    // A pattern that is taken for a path does no harm: it is only looked at where it lies.
    operands: 'pattern, paths',
    patternless: ['--files', '--type-list'],
    match: ['rg main', 'rg -n --glob=*.ts main src', 'rg -e a -e b .', 'rg -tjs x'],
    noMatch: [
      'rg --pre cat x',
      'rg --pre=./x y',
      'rg -z x',
      'rg -L x',
      'rg --follow x',
      'rg -f list',
      'rg --hostname-bin x y',
    ],
  },
  {
    command: 'find',
    wordFlags: true,
    flags: flags(
      '-P -a -and -o -or -not -print -print0 -ls -prune -quit -empty -true -false -depth -mount -xdev -nouser -nogroup ' +
        '-readable -writable -executable -daystart -noleaf',
    ),
    values: {
      ...taking(
        'text',
        '-name -iname -path -ipath -wholename -regex -iregex -regextype -lname -size -perm -user -group',
      ),
      ...taking(/^[bcdpfls](?:,[bcdpfls])*$/, '-type'),
      ...taking(number, '-mtime -mmin -atime -amin -ctime -cmin -maxdepth -mindepth -links'),
      ...taking('path', '-newer'),
      ...taking(format, '-printf'),
    },
    // Brackets and `!` are operands here, and name nothing outside.
    match: ['find . -name *.ts -type f', 'find src -maxdepth 2 -not -empty', 'find . ( -name a -o -name b ) -print'],
    noMatch: [
      'find . -delete',
      // It reads its expression after `--` too.
      'find -- . -delete',
      'find -- . -name x',
      'find . -exec rm {} ;',
      'find . -execdir rm {} +',
      'find . -ok rm {} ;',
      'find . -okdir rm {} ;',
      'find . -fprint x',
      'find . -fprintf x y',
      'find . -fls x',
      'find . -fprint0 x',
      'find -L . -name x',
      'find . -follow',
      'find -files0-from list',
    ],
  },
];
