import type { JsonObject } from '../../json.ts';
import type { PerformContext } from '../../kernel/context.ts';
import type { Clock } from '../../ports/clock.ts';
import { within } from '../../timed-call.ts';
import type { ToolAccess } from '../../tools/access.ts';
import { checkArguments, issuesText } from '../../tools/execute.ts';
import type { Tool } from '../../tools/tool.ts';
import type { CallSubject } from './evaluate.ts';

/** Milliseconds a tool has to say what a call touches. Longer is as good as not knowing. */
const ACCESS_TIMEOUT_MS = 10_000;

/** A call as rules see it, or what is wrong with its arguments. */
export type SubjectOutcome =
  { readonly ok: true; readonly subject: CallSubject } | { readonly ok: false; readonly problem: string };

/** Checks the arguments, and asks the tool what a call with them touches. Never rejects: a tool that fails is unknown. */
export async function subjectOf(
  tool: Tool,
  args: JsonObject,
  { agent, clock }: Pick<PerformContext, 'agent' | 'clock'>,
  hookReason: string | undefined,
): Promise<SubjectOutcome> {
  const checked = await inTime(clock, async () => checkArguments(tool, args, agent.validator));
  if (checked === null)
    return { ok: false, problem: `Not executed: checking the arguments of ${tool.name} took too long.` };
  if (!checked.ok) return { ok: false, problem: issuesText(tool, checked.issues) };
  const { value } = checked;
  const known = await inTime(clock, async () => ({
    access: (await tool.access?.(value)) ?? null,
    needsApproval: tool.approval === 'always' || (await tool.approval?.(value)) === true,
  }));
  return {
    ok: true,
    subject: {
      toolName: tool.name,
      readOnly: tool.readOnly,
      access: known && isAccess(known.access) ? known.access : null,
      needsApproval: known?.needsApproval ?? true,
      isUnknown: known === null || (tool.access !== undefined && !isAccess(known.access)),
      ...(hookReason === undefined ? {} : { hookReason }),
    },
  };
}

/** Tools are other people's code: what isn't of the right form says nothing. */
function isAccess(access: unknown): access is ToolAccess {
  if (typeof access !== 'object' || access === null) return false;
  const { paths = [], hosts = [], commands }: { paths?: unknown; hosts?: unknown; commands?: unknown } = access;
  return Array.isArray(paths) && Array.isArray(hosts) && (commands === undefined || typeof commands === 'object');
}

/** What the work comes to; null when it fails or takes too long. */
const inTime = <Value>(clock: Clock, work: () => Promise<Value>): Promise<Value | null> =>
  within(clock, ACCESS_TIMEOUT_MS, work(), null).catch(() => null);
