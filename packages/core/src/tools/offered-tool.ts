import type { JsonSchema } from '../json.ts';

/** A tool that the client of a run offers to run: as data, for it is kept in the log. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** Of an object. */
  readonly inputSchema: JsonSchema;
}
