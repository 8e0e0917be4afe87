/** Programs that run another command, which they take as arguments. */
const wrappers = new Set(
  (
    'sudo doas env xargs parallel timeout nice ionice chrt taskset nohup setsid stdbuf unbuffer time command builtin ' +
    'exec coproc busybox toybox chroot unshare nsenter setpriv runuser su flock watch strace ltrace gdb entr systemd-run ' +
    'faketime firejail bwrap proot fakeroot dbus-run-session script rlwrap prlimit catchsegv caffeinate expect eatmydata ' +
    'pkexec torsocks proxychains ssh docker podman kubectl npx find fd if while until then else elif do not !'
  ).split(' '),
);

const shells = new Set('sh bash dash ash zsh ksh mksh fish csh tcsh rbash'.split(' '));

/** Programs that take what they read as commands. */
const readers = new Set([...shells, 'source', '.', 'eval', 'xargs', 'parallel', 'at', 'batch', 'ssh', 'su', 'sudo']);

/** Arguments of these after which another command follows. */
const commandFlags = new Set(['-exec', '-execdir', '-ok', '-okdir', '-x', '-X', '--exec', '--exec-batch', '--']);

const assignment = /^[A-Za-z_]\w*=/;

/** What the words of one command run besides the command itself. */
export interface Inner {
  readonly commands: readonly (readonly string[])[];
  /** Texts that a shell is handed. */
  readonly scripts: readonly string[];
  /** False when there may be more than was looked at. */
  readonly complete: boolean;
}

/** The short flag after which these programs take a command as one text, which may be joined to it: `env -Srm`. */
const textFlags: Readonly<Record<string, string>> = {
  env: 'S',
  su: 'c',
  runuser: 'c',
  script: 'c',
  flock: 'c',
  npx: 'c',
};

/** Words of a wrapper that are tried as the beginning of the command it runs. */
const mostTries = 64;

/** The name of a program without its folder. */
export const programName = (word: string): string => word.slice(word.lastIndexOf('/') + 1);

/** True when the command may run what it reads, or what it is handed, as commands. */
export const readsCommands = (words: readonly string[]): boolean => readers.has(programName(words[0] ?? ''));

/**
 * The commands inside a command's words, as far as they can be told. Which of a wrapper's words begins the inner command
 * depends on flags that every version has its own of, so each word that may is tried: to deny, too many names do no harm.
 */
export function innerCommands(words: readonly string[]): Inner {
  const program = programName(words[0] ?? '');
  const rest = words.slice(1);
  if (program === 'eval') return { commands: [], scripts: [rest.join(' ')], complete: true };
  if (program === 'trap') return { commands: [], scripts: rest, complete: true };
  if (program === 'git') return { commands: [], scripts: gitAliases(rest), complete: true };
  if (shells.has(program)) return { commands: [], scripts: shellScripts(rest), complete: true };
  if (!wrappers.has(program)) return { commands: [], scripts: [], complete: true };
  const starts: number[] = [];
  for (let index = 0; index < rest.length && starts.length <= mostTries; index += 1) {
    if (mayBegin(rest, index)) starts.push(index);
  }
  const handed = handedTexts(program, rest);
  return {
    commands: [...starts.slice(0, mostTries).map((start) => untilEnd(rest, start)), ...handed.commands],
    // What is a sentence may be a script: `su -c 'rm x'`, `watch 'rm x'`, `ssh host 'rm x'`. `find` is handed words only.
    scripts: [...(program === 'find' ? [] : rest.filter((word) => /\s/.test(word))), ...handed.texts],
    complete: starts.length <= mostTries && handed.complete,
  };
}

/** The texts that a wrapper is handed in flags, and what they run together with the words after them. */
function handedTexts(
  program: string,
  words: readonly string[],
): {
  readonly texts: readonly string[];
  readonly commands: readonly (readonly string[])[];
  readonly complete: boolean;
} {
  const short = Object.hasOwn(textFlags, program) ? textFlags[program] : undefined;
  if (short === undefined) return { texts: [], commands: [], complete: true };
  const texts: string[] = [];
  const commands: (readonly string[])[] = [];
  const before = new RegExp(`^-\\w*${short}$`);
  const joined = new RegExp(`^(?:--[\\w-]+=|-\\w*?${short})([^]+)$`);
  for (const [index, word] of words.slice(0, mostTries).entries()) {
    const text = joined.exec(word)?.[1] ?? (/\s/.test(word) || before.test(words[index - 1] ?? '') ? word : undefined);
    if (text === undefined) continue;
    texts.push(text);
    commands.push([...text.split(/\s+/).filter((part) => part !== ''), ...words.slice(index + 1)]);
  }
  // `env` reads escapes of its own in such a text.
  const complete = words.length <= mostTries && !(program === 'env' && texts.some((text) => text.includes('\\')));
  return { texts, commands, complete };
}

function mayBegin(words: readonly string[], index: number): boolean {
  const word = words[index] ?? '';
  if (commandFlags.has(words[index - 1] ?? '')) return true;
  return !word.startsWith('-') && !assignment.test(word);
}

/** From `start` up to the `;` or `+` that ends the command of a `-exec`. */
function untilEnd(words: readonly string[], start: number): readonly string[] {
  const end = words.findIndex((word, index) => index > start && (word === ';' || word === '+'));
  return words.slice(start, end < 0 ? undefined : end);
}

function shellScripts(args: readonly string[]): string[] {
  const hasScript = args.some(
    (arg) => /^-[A-Za-z]*c/.test(arg) || arg.startsWith('--command') || arg === '--init-file',
  );
  return hasScript ? args.filter((arg) => !/^[-+]/.test(arg)) : [];
}

/** `-c alias.x='!rm x'`, and other settings whose value git runs. */
function gitAliases(args: readonly string[]): string[] {
  return args.flatMap((arg) => {
    const value = /^[\w.-]+=!?([^]*)$/.exec(arg)?.[1];
    return value === undefined ? [] : [value];
  });
}
