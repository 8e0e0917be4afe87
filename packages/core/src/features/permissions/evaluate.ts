import type { ToolAccess } from '../../tools/access.ts';
import { isInside, namesOf } from './rules/glob.ts';
import { allowing, restrains, type Subject } from './rules/match.ts';
import type { PermissionMode, RuleBehavior } from '../../events/permission-updates.ts';
import type { Rights } from './permissions.ts';
import type { PermissionRule } from '../../tools/permission-rule.ts';
import type { Policy } from './policy.ts';

/** A call to be decided on. */
export interface CallSubject extends Subject {
  /** Whether the tool as such changes nothing. */
  readonly readOnly: boolean;
  /** Whether the tool asks to be asked for. */
  readonly needsApproval: boolean;
  /** True when the tool could not say what the call touches. */
  readonly isUnknown: boolean;
  /** Why a hook wants it to be asked for, if one does. */
  readonly hookReason?: string;
}

/** Who or what decided. */
export type DecidedBy =
  | { readonly type: 'rule'; readonly behavior: RuleBehavior; readonly rule: string; readonly source: string }
  | { readonly type: 'mode'; readonly mode: PermissionMode }
  | { readonly type: 'hook' }
  | { readonly type: 'callback' }
  | { readonly type: 'person' }
  /** The gate itself: nobody could be asked, or there was nothing to ask for. */
  | { readonly type: 'gate' };

/** What rules and mode say. `ask` is for a callback or a person to decide. */
export type Verdict =
  | { readonly outcome: 'allow'; readonly by: DecidedBy; readonly reason: string; readonly confined?: true }
  | { readonly outcome: 'deny'; readonly by: DecidedBy; readonly reason: string }
  | {
      readonly outcome: 'ask';
      readonly reason: string;
      /** True when something says that this very call is to be asked for; false when only nothing allows it. */
      readonly explicit: boolean;
      readonly rule: string | null;
      /** The call must be confined even if somebody allows it. */
      readonly confined?: true;
    };

/**
 * What rules and the mode say of a call: deny rules, then what must be asked for, then the mode, then allow rules. A
 * sub-agent's call must pass those of every agent above it too. Pure.
 */
export function evaluate(policy: Policy, subject: CallSubject): Verdict {
  const own = evaluateUnder(policy, subject);
  if (policy.above === undefined || own.outcome === 'deny') return own;
  const verdicts = [own, ...policy.above.map((rights) => evaluateUnder(rights, subject))];
  const strictest =
    verdicts.find(({ outcome }) => outcome === 'deny') ??
    verdicts.find((verdict) => verdict.outcome === 'ask' && verdict.explicit) ??
    verdicts.find(({ outcome }) => outcome === 'ask') ??
    own;
  if (strictest.outcome === 'deny') return strictest;
  const confined = verdicts.some((verdict) => verdict.outcome !== 'deny' && verdict.confined === true);
  return confined ? { ...strictest, confined } : strictest;
}

function evaluateUnder(policy: Rights, subject: CallSubject): Verdict {
  const { mode, rules } = policy;
  const denied = rules.deny.find((rule) => restrains(rule, subject) === 'yes');
  if (denied) {
    return { outcome: 'deny', by: ruleThat('deny', denied), reason: `The rule ${denied.text} denies it` };
  }
  if (mode === 'plan' && !isReadOnly(subject)) {
    return deniedBy(mode, because('In plan mode only calls that change nothing are run', subject));
  }
  const confined = subject.access?.confined === true ? ({ confined: true } as const) : null;
  // Plan mode promises that nothing changes, whoever allows the call.
  const always = mode === 'plan' ? confined : null;
  const must = mustAsk(policy, subject);
  if (must) return asking(mode, { ...must, explicit: true, ...always });
  if (modeAllows(policy, subject)) {
    const reason = `The mode ${mode} allows it`;
    return { outcome: 'allow', by: { type: 'mode', mode }, reason, ...(mode === 'bypass' ? null : confined) };
  }
  const allowed = allowing(rules.allow, subject)?.[0];
  if (allowed) {
    const reason = `The rule ${allowed.text} allows it`;
    return { outcome: 'allow', by: ruleThat('allow', allowed), reason, ...always };
  }
  return asking(mode, { reason: openReason(policy, subject), explicit: false, rule: null, ...always });
}

const ruleThat = (behavior: 'allow' | 'deny', { text, source }: PermissionRule): DecidedBy => ({
  type: 'rule',
  behavior,
  rule: text,
  source,
});

const deniedBy = (mode: PermissionMode, reason: string): Verdict => ({
  outcome: 'deny',
  by: { type: 'mode', mode },
  reason,
});

function asking(mode: PermissionMode, question: Omit<Extract<Verdict, { outcome: 'ask' }>, 'outcome'>): Verdict {
  if (mode !== 'dontAsk') return { outcome: 'ask', ...question };
  return deniedBy(mode, `${question.reason}, and nobody is to be asked`);
}

const because = (problem: string, { access }: CallSubject): string =>
  access?.reason === undefined ? problem : `${problem}: ${access.reason}`;

/** Why a call is to be asked for although something may allow it. */
function mustAsk({ mode, rules }: Rights, subject: CallSubject): { reason: string; rule: string | null } | null {
  if (subject.hookReason !== undefined) return { reason: subject.hookReason, rule: null };
  const asked = rules.ask.find((rule) => restrains(rule, subject) !== 'no');
  if (asked) return { reason: `The rule ${asked.text} wants it to be asked for`, rule: asked.text };
  const unclear = rules.deny.find((rule) => restrains(rule, subject) === 'maybe');
  if (unclear) {
    return { reason: `Whether the rule ${unclear.text} denies it can't be told`, rule: unclear.text };
  }
  if (mode === 'bypass') return null;
  const guarded = subject.access?.paths?.find(({ path, given, write }) => write && isProtected(given ?? '', path));
  return guarded ? { reason: `It would change ${guarded.path}, which decides what runs`, rule: null } : null;
}

/** What decides what runs: whoever may write there may do everything. Compared without regard to case. */
const PROTECTED_FOLDERS: ReadonlySet<string> = new Set(['.git', '.treadle', '.claude', '.claude-plugin', '.agents']);
const PROTECTED_FILES: ReadonlySet<string> = new Set(['.mcp.json']);

/** Whether a path is one of those that are never changed without asking: our settings, git's internals, skills, MCP servers. */
function isProtected(...paths: readonly string[]): boolean {
  return paths.some((path) => {
    const names = namesOf(path.toLowerCase());
    return names.some((name) => PROTECTED_FOLDERS.has(name)) || PROTECTED_FILES.has(names.at(-1) ?? '');
  });
}

const isReadOnly = ({ access, readOnly, isUnknown }: CallSubject): boolean =>
  !isUnknown && (access?.readOnly ?? readOnly);

function modeAllows(policy: Rights, subject: CallSubject): boolean {
  const { mode } = policy;
  if (mode === 'bypass') return true;
  const { access, isUnknown, needsApproval } = subject;
  if (isUnknown || needsApproval) return false;
  // A tool of the application's own, which says nothing of permissions.
  if (access === null) return true;
  if (access.contained === true && mode !== 'plan') return true;
  if ((access.hosts ?? []).length > 0) return false;
  if (isReadOnly(subject)) return allInside(policy, access);
  return (
    mode === 'acceptEdits' && access.edits === true && (access.paths ?? []).length > 0 && allInside(policy, access)
  );
}

function allInside({ directories }: Rights, { folder, paths = [] }: ToolAccess): boolean {
  const folders = folder === undefined ? directories : [folder, ...directories];
  return paths.every(({ path }) => folders.some((inside) => isInside(path, inside)));
}

function openReason(policy: Rights, subject: CallSubject): string {
  const { toolName, access, isUnknown, needsApproval } = subject;
  if (isUnknown) return `What ${toolName} would touch can't be told`;
  if (needsApproval || access === null) return `${toolName} has to be approved`;
  if (!allInside(policy, access)) return `${toolName} would leave the working folder`;
  if ((access.hosts ?? []).length > 0) return `${toolName} would talk to ${access.hosts?.join(', ')}`;
  return because(access.commands ? 'No rule allows the command' : `No rule allows ${toolName} here`, subject);
}
