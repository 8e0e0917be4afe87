import type { ModelRequest, ToolDefinition } from '@treadle/core/model';
import type { ProviderToolDefinition } from '@treadle/core';
import { toJson } from './json-text.ts';

/** The tools of a request that belong to this provider. */
export const providerToolsOf = (
  { providerTools = [] }: ModelRequest,
  provider: string,
): readonly ProviderToolDefinition[] => providerTools.filter((tool) => tool.provider === provider);

/**
 * Writes the tools of requests as elements of an array. A tool of the provider takes the place of the function of its
 * name, which executes its calls. The same lists are written once.
 */
export function createToolLists(
  provider: string,
  write: (tool: ToolDefinition) => object,
): (request: ModelRequest) => string {
  const kept = new WeakMap<ModelRequest['tools'], { readonly own: ModelRequest['providerTools']; json: string }>();
  return (request) => {
    const found = kept.get(request.tools);
    if (found !== undefined && found.own === request.providerTools) return found.json;
    const own = providerToolsOf(request, provider);
    const replaced = new Set(own.map(({ name }) => name));
    const functions = request.tools.filter(({ name }) => !replaced.has(name));
    const json = [...functions.map(write), ...own.map(({ definition }) => definition)]
      .map((tool) => toJson(tool))
      .join();
    kept.set(request.tools, { own: request.providerTools, json });
    return json;
  };
}
