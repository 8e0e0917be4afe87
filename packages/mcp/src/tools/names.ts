import { createHash } from 'node:crypto';
import { TreadleError } from '@treadle/core';

/** Longer names are refused by some providers. */
const MAX_NAME = 64;
/** So that a tool's own name has room beside its server's. */
const MAX_SERVER = 32;

const clean = (text: string): string => text.replace(/[^A-Za-z0-9_-]+/g, '_');

/**
 * A server's part of its tools' names. It has no two underscores in a row, so that a rule about one server can't be about
 * another one whose name begins alike.
 */
function serverPart(server: string): string {
  const part = clean(server).replace(/_{2,}/g, '_').replace(/^_|_$/g, '');
  return part.length <= MAX_SERVER && part !== '' ? part : `${part.slice(0, MAX_SERVER - 9)}_${digest(server)}`;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** The prefix of each server's tools. @throws TreadleError `invalid_definition` when two servers have the same. */
export function serverPrefixes(servers: readonly string[]): ReadonlyMap<string, string> {
  const prefixes = new Map<string, string>();
  const taken = new Map<string, string>();
  for (const server of servers) {
    const prefix = `mcp__${serverPart(server)}__`;
    const other = taken.get(prefix);
    if (other !== undefined) {
      const names = `${JSON.stringify(other)} and ${JSON.stringify(server)}`;
      throw new TreadleError('invalid_definition', `The MCP servers ${names} have the same name in rules. Rename one.`);
    }
    taken.set(prefix, server);
    prefixes.set(server, prefix);
  }
  return prefixes;
}

/**
 * A name that providers take for a tool of a server. A name that had to be changed ends in a piece of its hash, so that it
 * stays the same whatever other tools there are.
 */
export function toolName(prefix: string, tool: string): string {
  const name = prefix + clean(tool);
  if (name === prefix + tool && name.length <= MAX_NAME) return name;
  return `${name.slice(0, MAX_NAME - 9)}_${digest(tool)}`;
}
