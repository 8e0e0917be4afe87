import type { BenchTool } from './contestants/contestant.ts';

/** Called around every execution; `args` as the tool got them. */
export interface ToolProbe {
  started?(args: unknown): void;
  ended?(args: unknown): void;
}

const parametersOf = (properties: BenchTool['parameters']['properties']): BenchTool['parameters'] => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

/** The tools of every scenario; all are declared in all of them, as an agent's are. */
export function benchTools(probe: ToolProbe = {}): BenchTool[] {
  const lookUp: BenchTool = {
    name: 'look_up',
    description: 'Looks an entry of the list up.',
    parameters: parametersOf({ query: { type: 'string', description: 'What to look up' }, page: { type: 'number' } }),
    execute(args) {
      probe.started?.(args);
      const { query, page } = args as { readonly query: string; readonly page: number };
      probe.ended?.(args);
      return `Found "${query}" on page ${page}: open, owned by nobody, mentioned in two other entries.`;
    },
  };
  const wait: BenchTool = {
    name: 'wait',
    description: 'Waits so many milliseconds.',
    parameters: parametersOf({ ms: { type: 'number' }, index: { type: 'number' } }),
    async execute(args) {
      probe.started?.(args);
      const { ms } = args as { readonly ms: number };
      await new Promise((resolve) => setTimeout(resolve, ms));
      probe.ended?.(args);
      return `Waited ${ms} ms.`;
    },
  };
  const writeFile: BenchTool = {
    name: 'write_file',
    description: 'Writes a file.',
    parameters: parametersOf({ path: { type: 'string' }, content: { type: 'string' } }),
    execute(args) {
      probe.started?.(args);
      const { path, content } = args as { readonly path: string; readonly content: string };
      probe.ended?.(args);
      return `Wrote ${content.length} characters to ${path}.`;
    },
  };
  return [lookUp, wait, writeFile];
}
