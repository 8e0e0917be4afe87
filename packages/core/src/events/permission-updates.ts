/** Where an update is kept. `session`: in the session's log, for as long as the session is. */
export type UpdateDestination = 'userSettings' | 'projectSettings' | 'localSettings' | 'session';

/** A change of permissions while a session lives. Rules are written as texts. */
export type PermissionUpdate =
  | {
      /** `replaceRules` replaces the rules of that behaviour and destination. */
      readonly type: 'addRules' | 'replaceRules' | 'removeRules';
      readonly rules: readonly string[];
      readonly behavior: RuleBehavior;
      readonly destination: UpdateDestination;
    }
  | { readonly type: 'setMode'; readonly mode: PermissionMode; readonly destination: UpdateDestination }
  | {
      readonly type: 'addDirectories' | 'removeDirectories';
      /** Absolute paths. */
      readonly directories: readonly string[];
      readonly destination: UpdateDestination;
    };

/** How much runs without asking where no rule says. */
export type PermissionMode =
  /** What reads inside the working folder runs; what writes, executes or talks to others asks. */
  | 'default'
  /** Changes of files inside the working folder run too. */
  | 'acceptEdits'
  /** Only what changes nothing runs; all else is denied, whatever allows it. */
  | 'plan'
  /** As `default`, and what would ask is denied. */
  | 'dontAsk'
  /** Nothing asks but ask rules; deny rules hold. Only with `allowBypass`. */
  | 'bypass';

/** What a rule does with the calls it is about. */
export type RuleBehavior = 'allow' | 'ask' | 'deny';

/** Where rules, modes and folders come from. `agent` is the definition in code; `session` what was said while it ran. */
export type RuleSource = 'agent' | 'cliArg' | 'userSettings' | 'projectSettings' | 'localSettings' | 'session';

/** From the strictest to the loosest. */
export const PERMISSION_MODES: readonly PermissionMode[] = ['plan', 'dontAsk', 'default', 'acceptEdits', 'bypass'];

/** Whether one mode lets no more happen than another. */
export const isStricter = (mode: PermissionMode, than: PermissionMode): boolean =>
  PERMISSION_MODES.indexOf(mode) < PERMISSION_MODES.indexOf(than);
