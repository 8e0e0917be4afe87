import type { JsonObject, JsonValue } from '../../json.ts';
import type { ToolResultContent } from '../../messages/content.ts';

/** What the hooks of one event came to: what the log keeps. */
export interface HookDecision {
  readonly decision: 'proceed' | 'allow' | 'deny' | 'ask';
  readonly reason?: string;
  readonly input?: JsonObject;
  readonly output?: readonly ToolResultContent[];
  readonly context?: string;
  readonly endRun?: string;
  /** What went wrong with hooks on the way. */
  readonly problems?: readonly string[];
}

/** A decision as the log gives it back. */
export const asHookDecision = (answer: JsonValue): HookDecision => answer as unknown as HookDecision;
