import { mustBeCount, mustBeWhole } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import { estimateJson, PER_CALL } from '../../messages/estimate.ts';
import { refuseUnknownKeys } from '../../names/known-keys.ts';
import { CALL_TOOL, SEARCH_TOOLS } from '../../tools/tool-search-names.ts';
import type { Tool } from '../../tools/tool.ts';
import { searchTool } from './search-tool.ts';

/** When definitions of tools are kept out of the prompt, and what a search of them returns. */
export interface ToolSearchOptions {
  /**
   * Tokens, by estimate, that definitions of tools may have in the prompt. Beyond them they are deferred. 0 defers all that
   * may be. Default: a tenth of the smallest window of the agent's models, and at most 20,000.
   */
  readonly maxTokens?: number;
  /** Tools that one search returns, at most. Default 5. */
  readonly maxResults?: number;
  /**
   * Tools that may change while sessions are open, such as `() => servers.tools` of an MCP client. They are always deferred, so
   * that a change of the list leaves the prompt as it is. Return the same array until something has changed.
   */
  readonly source?: () => readonly Tool[];
}

/** How an agent defers tools. */
export interface ToolSearch {
  /** Tools of the agent whose definitions are not in the prompt. */
  readonly deferred: ReadonlySet<string>;
  readonly source: (() => readonly Tool[]) | null;
  /** `search_tools`. */
  readonly tool: Tool;
}

const KEYS: Readonly<Record<keyof ToolSearchOptions, true>> = { maxTokens: true, maxResults: true, source: true };

const MOST_TOKENS = 20_000;
const SHARE_OF_WINDOW = 0.1;

/**
 * Checks what a definition says of searching tools, and decides which are deferred: first those that say they may be, then
 * those that don't say. Null when all definitions stay in the prompt.
 *
 * @param window the smallest window of the agent's models; null when nobody knows it
 * @throws TreadleError `invalid_definition`
 */
export function checkToolSearch(
  options: ToolSearchOptions | false | undefined,
  tools: ReadonlyMap<string, Tool>,
  window: number | null,
): ToolSearch | null {
  if (options === false) return null;
  const { maxResults = 5, source = null } = options ?? {};
  refuseUnknownKeys('toolSearch', options ?? {}, KEYS);
  mustBeCount('toolSearch.maxResults', maxResults);
  const most = options?.maxTokens ?? Math.min(MOST_TOKENS, SHARE_OF_WINDOW * (window ?? Infinity));
  if (options?.maxTokens !== undefined) mustBeWhole('toolSearch.maxTokens', most);
  const deferred = deferredAmong([...tools.values()], most);
  if (deferred.length === 0 && source === null) return null;
  for (const name of [SEARCH_TOOLS, CALL_TOOL]) {
    if (tools.has(name)) {
      throw new TreadleError(
        'invalid_definition',
        `"${name}" is the name of a built-in tool of agents that defer tools. Rename yours, or set toolSearch: false.`,
      );
    }
  }
  const tool = searchTool(() => (source ? [deferred, source()] : [deferred]), maxResults);
  return Object.freeze({ deferred: new Set(deferred.map(({ name }) => name)), source, tool });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

function deferredAmong(tools: readonly Tool[], most: number): readonly Tool[] {
  const tokens = ({ name, description, inputSchema }: Tool): number =>
    estimateJson({ name, description, inputSchema }) + PER_CALL;
  const fit = (those: readonly Tool[]): boolean => sum(those.map(tokens)) <= most;
  if (tools.length === 0 || fit(tools)) return [];
  const rest = tools.filter(({ deferLoading }) => deferLoading !== true);
  if (fit(rest)) return tools.filter(({ deferLoading }) => deferLoading === true);
  // A tool that ends a run is how the model answers.
  return tools.filter(({ deferLoading, endsRun }) => deferLoading ?? !endsRun);
}
