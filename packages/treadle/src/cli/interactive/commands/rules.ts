import type { PermissionOptions, PermissionUpdate } from '@treadle/core';
import { applyUpdate, updatesOf, type SessionPermissions } from '@treadle/core/features';

import { plainLine } from '../../asking/plain-text.ts';
import type { TerminalUi } from '../../../terminal/ui/host.ts';
import type { TerminalSession } from '../../../terminal/session/session.ts';

const BEHAVIORS = ['allow', 'ask', 'deny'] as const;

interface ShownRule {
  readonly behavior: (typeof BEHAVIORS)[number];
  readonly text: string;
  /** `agent` and `cliArg` are of this process; the others can be taken back. */
  readonly source: string;
}

/** The rules that hold in a session: those it was opened with, and those that were added since. */
export async function rulesOf(
  { settings = [] }: PermissionOptions,
  session: Pick<TerminalSession, 'id' | 'history'>,
): Promise<readonly ShownRule[]> {
  let now: SessionPermissions | null = null;
  if (session.id !== '')
    for await (const event of session.history()) for (const update of updatesOf(event)) now = applyUpdate(now, update);
  const own = settings.flatMap(({ source = 'agent', ...rules }) =>
    BEHAVIORS.flatMap((behavior) =>
      (rules[behavior] ?? []).map((rule) => ({
        behavior,
        text: typeof rule === 'string' ? rule : rule.rule,
        source,
      })),
    ),
  );
  const { rules = [], removed = [] } = now ?? {};
  const isGone = ({ behavior, source, text }: ShownRule): boolean =>
    removed.some((one) => one.behavior === behavior && one.source === source && [null, text].includes(one.text));
  const all = [...own.filter((rule) => !isGone(rule)), ...rules];
  return [...new Map(all.map((rule) => [ruleLine(rule), rule])).values()];
}

export const ruleLine = ({ behavior, text, source }: ShownRule): string =>
  `${behavior.padEnd(5)}  ${plainLine(text, 100)}  (${source})`;

type Destination = PermissionUpdate['destination'];
const DESTINATIONS: readonly string[] = [
  'session',
  'localSettings',
  'projectSettings',
  'userSettings',
] satisfies Destination[];

/** Takes a rule back: in the session, and in the settings file that holds it. */
export async function removeRule(rules: readonly ShownRule[], ui: TerminalUi): Promise<void> {
  const removable = rules.filter(({ source }) => DESTINATIONS.includes(source));
  if (removable.length === 0) {
    ui.print('There is no rule that could be removed. Flags hold until treadle ends.', 'dim');
    return;
  }
  const items = removable.map((rule) => ({ value: ruleLine(rule), text: ruleLine(rule) }));
  const picked = await ui.pick('Remove a rule', items);
  const rule = removable.find((each) => ruleLine(each) === picked);
  if (!rule) return;
  const { behavior, text, source } = rule;
  const update = { type: 'removeRules', rules: [text], behavior, destination: source as Destination } as const;
  await ui.session.post({ type: 'permission_updates', updates: [update] });
  ui.print(`Removed: ${ruleLine(rule)}`, 'dim');
}
