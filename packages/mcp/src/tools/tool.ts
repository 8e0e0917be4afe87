import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/client';
import { compileSchema, isJsonObject } from '@treadle/core/json';
import { jsonCheck } from '@treadle/core/tools';
import type { JsonObject, JsonSchema, Tool } from '@treadle/core';
import type { ArgumentsCheck } from '@treadle/core/tools';

import type { Connection } from '../client/connection.ts';
import { McpProblem } from '../client/problem.ts';
import type { Caller } from './caller.ts';
import { failureOf, resultOf } from './result.ts';
import { callAsTask } from './task.ts';

/** Characters of a description that a model is shown. A server is a stranger; a longer text is rarely about the tool. */
const MOST_DESCRIPTION = 8000;

/** What rules know of calls to a server. What a server says of itself (`readOnlyHint`) is left out: it grants nothing. */
export const accessOf = ({ config }: Connection): Tool['access'] => {
  const hosts = 'url' in config ? [new URL(config.url).hostname] : [];
  return () => ({ ...(hosts.length === 0 ? {} : { hosts }), readOnly: false });
};

/** A server's tool as a tool of an agent. */
export function toolOf(name: string, definition: McpTool, connection: Connection, caller: Caller): Tool {
  const { title, annotations, description = '' } = definition;
  const told = description.trim() === '' ? `The tool ${definition.name} of ${connection.name}.` : description;
  const schema = schemaOf(definition.inputSchema);
  const access = accessOf(connection);
  let check: ArgumentsCheck | null = null;
  return Object.freeze({
    name,
    label: title ?? annotations?.title ?? definition.name,
    description: told.slice(0, MOST_DESCRIPTION).toWellFormed(),
    inputSchema: schema,
    runs: 'server',
    replay: 'never',
    readOnly: false,
    execution: 'parallel',
    endsRun: false,
    deferLoading: true,
    // The server checks arguments too, and may know keywords that we don't.
    check: (args) => (check ??= checkOf(schema))(args),
    ...(access && { access }),
    execute: (args, context) => {
      const current = connection.known?.tools.find((tool) => tool.name === definition.name);
      if (!current) return failureOf(connection.name, goneProblem(connection, definition.name));
      const params = { name: current.name, arguments: args as JsonObject };
      const asTask = current.execution?.taskSupport === 'required';
      return caller.perform(
        context,
        (client, more, options): Promise<CallToolResult> =>
          asTask && !connection.isModern
            ? callAsTask(client, params, { clock: caller.clock, options })
            : client.callTool(
                { ...params, ...more },
                // Without the schema of its results, which is checked here: the SDK's check would hang on a hostile pattern.
                { ...options, allowInputRequired: true, toolDefinition: withoutOutput(current) },
              ),
        (result: CallToolResult) => resultOf(connection.name, result, current.outputSchema),
      );
    },
  } satisfies Tool);
}

const withoutOutput = ({ outputSchema: _, ...tool }: McpTool): McpTool => tool;

function goneProblem({ name, known }: Connection, tool: string): McpProblem {
  const names = known?.tools.map((each) => each.name).join(', ') ?? '';
  return new McpProblem('refused', `The MCP server ${name} has no tool ${tool} any more. It has: ${names}.`);
}

/** As providers insist on it; all else stays as the server wrote it. */
function schemaOf(given: unknown): JsonSchema {
  const schema = typeof given === 'object' && given !== null ? (given as JsonObject) : {};
  const { $schema: _, ...rest } = schema;
  return { ...rest, type: 'object', ...(isJsonObject(rest['properties']) ? {} : { properties: {} }) };
}

function checkOf(schema: JsonSchema): ArgumentsCheck {
  const compiled = compileSchema(schema);
  if (compiled.problems.length > 0) return (args) => ({ ok: true, value: args });
  const check = jsonCheck(schema);
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []);
  return (args, validator) => {
    const outcome = check(args, validator);
    if (outcome.ok) return outcome;
    // Models write null for what they leave out.
    const lean = Object.entries(args).filter(([name, value]) => value !== null || required.has(name));
    const leaner = check(Object.fromEntries(lean), validator);
    return leaner.ok ? leaner : outcome;
  };
}
