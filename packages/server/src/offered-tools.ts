import { TreadleError, type Agent, type OfferedTool } from '@treadle/core';

/** What clients may offer to run themselves. */
export interface OfferedToolsOptions {
  /** Of a run. Default 64. */
  readonly maxTools?: number;
  /** All of a run's tools as JSON, in bytes. Default 64 KiB. */
  readonly maxBytes?: number;
  /** Which tools which agent takes. Default: any agent takes all. */
  readonly accept?: (tool: OfferedTool, agent: Agent) => boolean;
}

/** @throws TreadleError `invalid_definition` for bounds that make no sense. */
export function checkOfferedOptions(
  given: true | OfferedToolsOptions | undefined,
): Required<OfferedToolsOptions> | null {
  if (given === undefined) return null;
  const { maxTools = 64, maxBytes = 64 * 1024, accept = () => true } = given === true ? {} : given;
  if (maxTools > 0 && maxBytes > 0) return { maxTools, maxBytes, accept };
  throw new TreadleError('invalid_definition', 'offeredTools.maxTools and maxBytes must be greater than 0.');
}
