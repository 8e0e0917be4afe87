import { errorText } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { plainData } from '../plain-data.ts';
import type { ArgumentsOutcome, ToolResult, ToolReturn } from '../tool.ts';
import type { ToolParameters } from './define-types.ts';
import { refuseTypos } from './schema-typos.ts';
import { shapeOf } from './shape.ts';

/** Holds what a tool returns to its `outputSchema`: the value itself, or the `details` of a `ToolResult`. */
export function checkedReturn(
  schema: ToolParameters | undefined,
  refuse: (reason: string, cause?: unknown) => never,
): (returned: unknown) => ToolReturn | Promise<ToolReturn> {
  // What a tool returns is anything.
  if (schema === undefined) return (returned) => returned as ToolReturn;
  refuseTypos(schema, 'outputSchema', refuse);
  const { check } = shapeOf(schema, undefined, { what: 'outputSchema', refuse, isTold: false });
  return async (given) => {
    const returned = (await given) as ToolReturn;
    const result = isResult(returned) ? returned : null;
    // A call that failed, or that asks first, has no value yet.
    if (result && (result.isError === true || result.ask !== undefined)) return returned;
    const outcome = await check(plainData(result ? result.details : returned).value ?? null);
    if (!outcome.ok) throw new Error(misfit(outcome));
    const value = outcome.value as JsonValue;
    if (result) return { ...result, details: value };
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return { content: text, details: value };
  };
}

const isResult = (returned: ToolReturn): returned is ToolResult =>
  typeof returned === 'object' && returned !== null && 'content' in returned;

function misfit({ issues }: Extract<ArgumentsOutcome, { ok: false }>): string {
  const lines = issues.map(({ path, message }) => `- ${path === '' ? 'the result' : path}: ${errorText(message)}`);
  return `its result doesn't fit its outputSchema.\n${lines.join('\n')}`;
}
