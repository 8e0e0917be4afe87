import type { JsonObject, JsonValue, Tool } from '@treadle/core';

import { suggestion, UsageError } from './usage-error.ts';

/** A call that the user had not allowed. */
export interface PermissionDenial {
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  /** The flag that would have allowed it, such as `--allow bash`. */
  readonly allowWith: string;
}

const REFUSED = 'permission_denied';

/** Whether a result's details say that the user had not allowed the call. */
export const isRefusal = (details: JsonValue | undefined): boolean =>
  typeof details === 'object' && details !== null && 'problem' in details && details.problem === REFUSED;

const WRITERS: readonly string[] = ['write_file', 'edit_file'];

/** What the user said about permissions. */
export interface Permissions {
  /** The values of `--allow`. */
  readonly allow: readonly string[];
  /** True when `--cwd` named the folder, which lets tools change files in it. */
  readonly folderNamed: boolean;
}

/** @throws UsageError for a word of `--allow` that allows nothing. */
export function checkAllow(allow: readonly string[], toolNames: readonly string[]): void {
  const known = ['all', 'write', ...toolNames];
  for (const word of allow) {
    if (known.includes(word)) continue;
    throw new UsageError(`--allow doesn't know '${word}'.${suggestion(word, known)} It takes: ${known.join(', ')}.`);
  }
}

/**
 * Puts the user's permissions in front of the tools. A refused tool stays declared, so that the model knows of it, and its
 * calls are answered with an error that says what was refused and how to allow it.
 */
export function gateTools(
  tools: readonly Tool[],
  permissions: Permissions,
  onDenied: (denial: PermissionDenial, tool: Tool) => void,
): Tool[] {
  return tools.map((tool) => (isAllowed(tool, permissions) ? tool : refusing(tool, onDenied)));
}

function isAllowed(tool: Tool, { allow, folderNamed }: Permissions): boolean {
  if (tool.readOnly || allow.includes('all') || allow.includes(tool.name)) return true;
  return WRITERS.includes(tool.name) && (folderNamed || allow.includes('write'));
}

function refusing(tool: Tool, onDenied: (denial: PermissionDenial, tool: Tool) => void): Tool {
  const isWriter = WRITERS.includes(tool.name);
  const allowWith = `--allow ${isWriter ? 'write' : tool.name}`;
  const how = isWriter ? `${allowWith}, or by naming the folder with --cwd` : allowWith;
  return {
    ...tool,
    // It does nothing, so doing it again after a crash is safe.
    replay: 'safe',
    execute(args, { callId }) {
      onDenied({ callId, toolName: tool.name, arguments: args as JsonObject, allowWith }, tool);
      return {
        content:
          `Permission denied: ${tool.name} was not run, because the user has not allowed it. ` +
          `The user can allow it with ${how}. Don't look for a way around; go on without it, or say what you would have done.`,
        isError: true,
        details: { problem: REFUSED, allowWith },
      };
    },
  };
}
