import { TreadleError } from '../../errors.ts';
import { asJson, isJsonObject } from '../../json.ts';
import { defineTool } from './define.ts';
import type { OfferedTool } from '../offered-tool.ts';
import type { Tool } from '../tool.ts';

/** What an offered tool is while its run is open. @throws TreadleError `invalid_definition` */
export const clientTool = ({ name, description, inputSchema }: OfferedTool): Tool =>
  defineTool({ name, description, inputSchema, runs: 'client' });

/**
 * Offered tools as they come into a log.
 *
 * @throws TreadleError `invalid_definition` for what is no tool, and for two of one name.
 */
export function checkOffered(tools: readonly OfferedTool[]): readonly OfferedTool[] {
  const names = new Set<string>();
  return tools.map((tool) => {
    const { name, description, inputSchema } = clientTool(tool);
    if (names.has(name)) throw new TreadleError('invalid_definition', `Two of the offered tools are named "${name}".`);
    names.add(name);
    const json = asJson(inputSchema)?.value;
    if (json !== undefined && isJsonObject(json)) return { name, description, inputSchema: json };
    throw new TreadleError('invalid_definition', `The parameters of the offered tool "${name}" are not JSON.`);
  });
}
