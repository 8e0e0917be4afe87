/**
 * What one call touches, as far as its tool can tell before it runs. Permissions are decided by it: rules are matched
 * against it, and a mode allows or asks by it. Only facts belong here; the tool decides nothing.
 *
 * A tool that writes, executes or talks to others says what it touches by its `access`, and so asks wherever nothing
 * allows the call. Leave a field out when there is nothing of its kind.
 */
export interface ToolAccess {
  /**
   * The absolute real path of the folder the tool works in. What is inside counts as inside the working folder, and
   * relative patterns of rules begin here.
   */
  readonly folder?: string;
  /** The files and folders that are read or written. */
  readonly paths?: readonly PathAccess[];
  /** The shell commands that are run. */
  readonly commands?: CommandAccess;
  /** The hosts that are talked to, without a port: `example.com`, `127.0.0.1`. */
  readonly hosts?: readonly string[];
  /** True when this call changes nothing anywhere. Default: the tool's `readOnly`. */
  readonly readOnly?: boolean;
  /**
   * True when `readOnly` holds only in a sandbox that the tool makes for the call. A call that runs because it is read-only
   * is then executed with `context.confined`, and the tool must use that sandbox or fail. A call that a rule or a person
   * allows is executed without it.
   */
  readonly confined?: boolean;
  /** Why the call isn't read-only although it only seems to read, and what would change that. For people. */
  readonly reason?: string;
  /**
   * True when this call does nothing but change the files of `paths`: an edit, or a command such as `mkdir a`. The mode
   * `acceptEdits` lets it run when all of them are inside the working folder.
   */
  readonly edits?: boolean;
  /**
   * True when the tool vouches that nothing has to be asked although the call may change something: it is contained in a
   * sandbox, and the one who set the tool up said that this is enough. The mode `plan` doesn't take it for read-only.
   */
  readonly contained?: boolean;
}

/** A file or folder that a call touches. */
export interface PathAccess {
  /** Absolute, with symbolic links followed as far as there is something to follow, and with `/`. */
  readonly path: string;
  /** The absolute path as it was written, when it differs: deny rules hold for both. */
  readonly given?: string;
  readonly write: boolean;
  /** True when what is below the folder is touched too, as by a search. */
  readonly recursive?: boolean;
}

/** The commands of a shell call. */
export interface CommandAccess {
  /** The whole text, for people. */
  readonly text: string;
  /**
   * The simple commands that run, in order, when these are all there is to the call: plain words joined by `&&`, `||`,
   * `;`, `|` or line ends. Null when that can't be told (an expansion in a word, a redirection into a file, an assignment,
   * a function, a subshell, text that doesn't parse): then no rule about commands allows the call.
   */
  readonly plain: readonly PlainCommand[] | null;
  /**
   * Every command that could be named, however deep and however many: those of `plain`, those inside substitutions,
   * subshells and loops, and what wrappers run (`sudo rm`, `env rm`, `xargs rm`, `bash -c 'rm'`, `find -exec rm`). Deny
   * and ask rules are matched against each of them.
   */
  readonly named: readonly (readonly string[])[];
  /** True when the call may run commands that could not be named, as in `bash -c '$X'`: deny and ask rules then ask. */
  readonly uncertain?: boolean;
}

/** One simple command. */
export interface PlainCommand {
  /** The words after quotes were taken off; the first is the program. */
  readonly words: readonly string[];
  /**
   * True when the command touches nothing but its own input and output, and its output isn't the input of one that does
   * more, such as `echo done`: it needs no rule.
   */
  readonly harmless?: boolean;
}
