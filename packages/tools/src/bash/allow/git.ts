import { flags, taking, type CommandRule } from './rule.ts';

const number = /^\d+$/;
const anything = /^[^]*$/;
/** `%G` has signatures checked, by a program that a repository's settings may name. */
const format = /^(?![^]*%G)[^]*$/;

/** How a difference is shown. Left out: what writes a file, and what runs a program of the settings (`--ext-diff`, `--textconv`). */
const showing = flags(
  '-p -u -s -z -w -b -R -a -W --patch --no-patch --raw --minimal --patience --histogram --no-renames --full-index --binary ' +
    '--numstat --shortstat --summary --name-only --name-status --patch-with-stat --no-color --check --ignore-space-change ' +
    '--ignore-all-space --ignore-blank-lines --ignore-space-at-eol --function-context --exit-code --quiet --pickaxe-all ' +
    '--pickaxe-regex --no-prefix --no-ext-diff --no-textconv --text --cc -c -m --compact-summary',
);
const showingOptional = {
  ...taking(anything, '--stat --dirstat --color-words --find-renames --find-copies --relative'),
  ...taking(/^\w+$/, '--color --word-diff'),
  ...taking(number, '--abbrev --unified'),
};
const showingValues = {
  ...taking(number, '-U --inter-hunk-context'),
  ...taking('text', '-S -G --diff-filter --diff-algorithm --ignore-submodules'),
};

/** Which commits are shown, and how. */
const listing = flags(
  '--oneline --graph --all --decorate --no-decorate --merges --no-merges --first-parent --reverse --follow --full-history ' +
    '--date-order --topo-order --author-date-order --branches --tags --remotes --no-walk --left-right --cherry-pick --cherry ' +
    '--cherry-mark --boundary --abbrev-commit --no-abbrev-commit --parents --children --simplify-by-decoration -i -E -F ' +
    '--regexp-ignore-case --extended-regexp --fixed-strings --all-match --invert-grep --source --no-notes --walk-reflogs -g ' +
    '--name-only --no-mailmap --use-mailmap --clear-decorations --relative-date --count',
);
const listingOptional = {
  ...taking(/^\w+$/, '--decorate'),
  ...taking(anything, '--branches --tags --remotes'),
};
const listingValues = {
  ...taking(number, '-n --max-count --skip'),
  ...taking(
    'text',
    '--since --until --after --before --author --committer --grep --date -L --decorate-refs --decorate-refs-exclude',
  ),
  ...taking(format, '--format --pretty'),
};

const commits = {
  flags: [...showing, ...listing, '--pretty'],
  optional: { ...showingOptional, ...listingOptional },
  values: { ...showingValues, ...listingValues },
  numbers: true,
} as const;

/** What git shows of a repository. They hold only where the repository's own settings run nothing. */
export const gitRules: readonly CommandRule[] = [
  {
    command: 'git status',
    flags: flags(
      '-s -b -u -v -z --short --branch --show-stash --long --verbose --ahead-behind --no-ahead-behind --renames --no-renames',
    ),
    optional: { ...taking(/^v?\d$/, '--porcelain'), ...taking(/^\w+$/, '--untracked-files --ignored --column') },
    match: ['git status', 'git status -sb', 'git --no-pager status --porcelain=v2', 'git status src'],
    noMatch: [
      'git -c core.fsmonitor=./x status',
      'git -C .. status',
      'git --git-dir=x status',
      'git --exec-path=x status',
    ],
  },
  {
    command: 'git log',
    ...commits,
    match: [
      'git log --oneline -5',
      'git log -p --stat main..HEAD -- src',
      'git log --format=%h%x09%s',
      'git log -S needle',
    ],
    noMatch: [
      'git log --output=x',
      'git log --ext-diff -p',
      'git log --textconv',
      'git log --show-signature',
      'git log --format=%G?',
    ],
  },
  {
    command: 'git show',
    ...commits,
    match: ['git show HEAD~2', 'git show --stat HEAD', 'git show HEAD:a.txt'],
    noMatch: ['git show --output=x', 'git show --ext-diff', 'git show --textconv HEAD:a', 'git show --show-signature'],
  },
  {
    command: 'git diff',
    flags: [...showing, '--cached', '--staged', '--merge-base', '--name-only'],
    optional: showingOptional,
    values: showingValues,
    match: ['git diff', 'git diff --cached --stat', 'git diff HEAD~1 -- src', 'git --no-pager diff -U5'],
    noMatch: [
      'git diff --ext-diff',
      'git diff --textconv',
      'git diff --output=x',
      'git diff --no-index a b',
      'git diff --output x',
    ],
  },
  {
    command: 'git branch',
    flags: flags('-a -r -v -vv --all --remotes --verbose --show-current --no-color --ignore-case'),
    optional: { ...taking(anything, '--list'), ...taking(/^\w+$/, '--color --column') },
    values: {
      ...taking('text', '--contains --no-contains --merged --no-merged --sort'),
      ...taking(format, '--format'),
    },
    operands: 'none',
    match: ['git branch', 'git branch -a', 'git branch --list', 'git branch --show-current', 'git branch -vv'],
    noMatch: [
      'git branch new',
      'git branch -d x',
      'git branch -D x',
      'git branch -m a b',
      'git branch -f x',
      'git branch --edit-description',
    ],
  },
  {
    command: 'git tag',
    flags: flags('-l -i --list --ignore-case'),
    optional: { ...taking(number, '-n'), ...taking(anything, '--list') },
    values: taking('text', '--contains --merged --points-at --sort'),
    operands: 'none',
    match: ['git tag', 'git tag -l'],
    noMatch: ['git tag v1', 'git tag -d v1', 'git tag -v v1', 'git tag --format=%G v1'],
  },
  {
    command: 'git remote',
    flags: flags('-v --verbose'),
    operands: 'none',
    match: ['git remote', 'git remote -v'],
    noMatch: ['git remote add a b', 'git remote show origin', 'git remote update'],
  },
  {
    command: 'git rev-parse',
    flags: flags(
      '--abbrev-ref --show-toplevel --git-dir --is-inside-work-tree --verify --quiet -q --show-prefix --show-cdup --absolute-git-dir',
    ),
    optional: { ...taking(number, '--short'), ...taking(/^\w+$/, '--abbrev-ref') },
    match: ['git rev-parse HEAD', 'git rev-parse --show-toplevel', 'git rev-parse --short=8 HEAD'],
    noMatch: ['git rev-parse --parseopt', 'git rev-parse --sq-quote x'],
  },
  {
    command: 'git ls-files',
    flags: flags(
      '-c -d -m -o -i -s -t -v -z --cached --deleted --modified --others --ignored --stage --exclude-standard --full-name',
    ),
    values: taking('text', '-x --exclude'),
    match: ['git ls-files', 'git ls-files -o --exclude-standard'],
    noMatch: ['git ls-files --recurse-submodules', 'git ls-files -X list'],
  },
  {
    command: 'git ls-tree',
    flags: flags('-r -d -t -l -z --name-only --name-status --long --full-tree --full-name'),
    match: ['git ls-tree -r HEAD --name-only'],
    noMatch: ['git ls-tree --x'],
  },
  {
    command: 'git blame',
    flags: flags('-w -e -l -s -t -f -n --show-email --show-name --show-number --line-porcelain --porcelain --date'),
    values: taking('text', '-L --date --since'),
    match: ['git blame -L 1,5 a.ts', 'git blame a.ts'],
    noMatch: ['git blame --contents x a', 'git blame --textconv a', 'git blame --ignore-revs-file=x a'],
  },
  {
    command: 'git shortlog',
    flags: flags('-s -n -e -c --summary --numbered --email --committer --all --no-merges'),
    values: taking('text', '--since --until'),
    match: ['git shortlog -sn HEAD'],
    noMatch: ['git shortlog --output=x'],
  },
  {
    command: 'git describe',
    flags: flags('--tags --all --always --long --contains --exact-match --first-parent'),
    optional: { ...taking(/^[\w-]*$/, '--dirty'), ...taking(number, '--abbrev') },
    values: taking('text', '--match --exclude'),
    match: ['git describe --tags --always'],
    noMatch: ['git describe --x'],
  },
  {
    command: 'git merge-base',
    flags: flags('-a --all --is-ancestor --octopus --independent'),
    match: ['git merge-base main HEAD'],
    noMatch: ['git merge-base --x'],
  },
];
