import type { Agent, OfferedTool } from '@treadle/core';
import { checkOffered } from '@treadle/core/tools';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';

/**
 * The tools that a run is given of those which its client offers: none where the server takes none, and none in the place of
 * a tool of the agent's own.
 *
 * @throws RequestError `bad_request`, `too_large`; TreadleError `invalid_definition`.
 */
export function takeOffered(
  { offeredTools }: ServerParts,
  agent: Agent,
  offered: readonly OfferedTool[] = [],
): readonly OfferedTool[] {
  if (!offeredTools || offered.length === 0) return [];
  const { maxTools, maxBytes, accept } = offeredTools;
  if (offered.length > maxTools)
    throw new RequestError('bad_request', `A run may be offered ${maxTools} tools, and these are ${offered.length}.`);
  if (Buffer.byteLength(JSON.stringify(offered)) > maxBytes)
    throw new RequestError('too_large', `The tools that are offered to a run may have ${maxBytes} bytes together.`);
  return checkOffered(offered.filter((tool) => !agent.tools.has(tool.name) && accept(tool, agent)));
}
