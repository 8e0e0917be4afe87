import { dirname } from 'node:path';
import { lockDescriptor, type Protection } from './protect.ts';
import type { SandboxSettings } from './settings.ts';
import { viewMounts, type ReadView } from './view.ts';

/** Where bubblewrap finds what it is handed: the filter of system calls, the lists of users and of groups. */
const descriptors = { filter: 4, users: 5, groups: 6 } as const;

/** What every sandbox is made with. */
export interface CommonPlan {
  readonly program: string;
  /** Whether the system's administrator runs us: then rights are taken away that others never have. */
  readonly isAdministrator: boolean;
  /** Limits the processes from within, for those whom such a limit binds. */
  readonly processLimit: number | undefined;
  readonly command: readonly string[];
}

/** What a command is run with. */
export interface SandboxPlan extends CommonPlan {
  readonly root: string;
  readonly settings: SandboxSettings;
  readonly protections: readonly Protection[];
}

/** What a command is run with that may only read. */
export interface ConfinedPlan extends CommonPlan {
  readonly view: ReadView;
  readonly temporaryBytes: number;
}

/** Rights over files that a command of the administrator keeps, so that it can work on other people's files. */
const keptRights = ['CAP_DAC_OVERRIDE', 'CAP_CHOWN', 'CAP_FOWNER'];

/** Sets the limit in the shells there are: one calls it -u, others -p. */
const limitProcesses =
  'if (ulimit -u "$1") 2>/dev/null; then ulimit -u "$1"; else ulimit -p "$1"; fi || exit 125; shift; exec "$@"';

/** The command line that runs a command in bubblewrap. Pure. */
export function sandboxArguments(plan: SandboxPlan): string[] {
  const { root, settings, protections } = plan;
  return withBubblewrap(plan, keptRights, [
    ...(settings.network === 'none' ? ['--unshare-net'] : []),
    ...(protections.some((one) => one.needsPlaceholder) ? ['--sync-fd', String(lockDescriptor)] : []),
    ...mounts(plan),
    ...['--setenv', 'TMPDIR', '/tmp', '--chdir', root],
  ]);
}

/** The command line that runs a command where it sees nothing but its view, and can change and reach nothing. */
export function confinedArguments(plan: ConfinedPlan): string[] {
  return withBubblewrap(
    plan,
    ['CAP_DAC_OVERRIDE'],
    [
      '--unshare-net',
      ...['--dev', '/dev', '--remount-ro', '/dev', '--proc', '/proc', ...systemFilesReadOnly],
      ...temporary('/tmp', plan.temporaryBytes),
      ...viewMounts(plan.view, descriptors),
    ],
  );
}

function withBubblewrap(plan: CommonPlan, rights: readonly string[], parts: readonly string[]): string[] {
  const { program, isAdministrator, processLimit, command } = plan;
  const limited =
    processLimit === undefined ? command : ['/bin/sh', '-c', limitProcesses, 'sh', String(processLimit), ...command];
  return [
    program,
    ...[
      '--die-with-parent',
      '--new-session',
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
    ],
    ...['--seccomp', String(descriptors.filter)],
    ...['--cap-drop', 'ALL', ...(isAdministrator ? rights.flatMap((right) => ['--cap-add', right]) : [])],
    ...parts,
    '--',
    ...limited,
  ];
}

/** What of `/proc` changes the system: the administrator owns it, so that having no rights doesn't keep him from it. */
const systemFiles = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi', 'driver', 'mtrr'].map(
  (name) => `/proc/${name}`,
);
const systemFilesReadOnly = systemFiles.flatMap((path) => ['--ro-bind-try', path, path]);

const temporary = (path: string, bytes: number): string[] => ['--size', String(bytes), '--tmpfs', path];

function mounts({ root, settings, protections }: SandboxPlan): string[] {
  const { mode, temporaryBytes, writable, network } = settings;
  const isWritable = mode === 'workspace-write';
  return [
    ...['--ro-bind', '/', '/', '--dev', '/dev', ...temporary('/dev/shm', temporaryBytes), '--remount-ro', '/dev'],
    ...['--proc', '/proc', ...systemFilesReadOnly],
    ...temporary('/tmp', temporaryBytes),
    // Sockets of services are in /run, and a read-only mount doesn't keep anyone from talking to them.
    ...['--size', '1048576', '--tmpfs', '/run', '--ro-bind-try', '/run/current-system', '/run/current-system'],
    ...(network === 'host' ? ['--ro-bind-try', '/run/systemd/resolve', '/run/systemd/resolve'] : []),
    ...(isWritable ? writable.flatMap((path) => ['--bind', path, path]) : []),
    ...[isWritable ? '--bind' : '--ro-bind', root, root],
    // Mounts of their own, so that they can't be renamed away either.
    ...(isWritable ? protections.flatMap(({ path }) => ['--ro-bind', path, path]) : []),
    ...(dirname(root) === '/run' || root === '/run' ? [] : ['--remount-ro', '/run']),
  ];
}

/** The limit on the size of files is counted in blocks of this size. */
const blockBytes = 512;

/** What a command is entered with, from outside of its sandbox. */
export interface Entrance {
  /** The absolute path of the program that makes a process end with the one that started it. */
  readonly setpriv: string;
  /** The number of this process. */
  readonly processId: number;
  readonly joinFile: string | undefined;
  readonly maxFileBytes: number;
}

/**
 * Joins the group of processes whose number is limited, limits the size of files, then becomes the command. Whoever started it
 * may have died before it was tied to them: then it goes no further.
 */
const enter =
  '[ "$PPID" = "$1" ] || exit 125; [ -z "$2" ] || echo 0 > "$2" || exit 125; ulimit -f "$3" || exit 125; shift 3; exec "$@"';

/** The command line that ties a command to this process and sets the limits which have to be set from outside. */
export function entering(entrance: Entrance, command: readonly string[]): string[] {
  const { setpriv, processId, joinFile = '', maxFileBytes } = entrance;
  const blocks = Math.ceil(maxFileBytes / blockBytes);
  const shell = ['/bin/sh', '-c', enter, 'sh', String(processId), joinFile, String(blocks), ...command];
  return [setpriv, '--pdeathsig', 'KILL', ...shell];
}
