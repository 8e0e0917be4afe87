import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { TODO_TOOL, todoItems } from '@treadle/core/projections';

import { counted } from './figures.ts';

/** What a built-in tool's call came to, in a few words. */
export interface Outcome {
  readonly words: string;
  /** The call worked, and what it did went wrong: a command that failed. */
  readonly isBad: boolean;
}

/**
 * The outcome that the details of a result tell of; null when they are none of a built-in tool's, whatever the tool is
 * called.
 */
export function outcomeOf(toolName: string, details: JsonValue | undefined): Outcome | null {
  if (!isJsonObject(details)) return null;
  if (toolName === 'bash') return commandOutcome(details);
  const words = wordsOf(toolName, details);
  return words === null ? null : { words, isBad: false };
}

function wordsOf(toolName: string, facts: JsonObject): string | null {
  switch (toolName) {
    case 'list_files':
      return typeof facts['total'] === 'number' ? count(facts['total'], 'entry', 'entries') : null;
    case 'search': {
      const { matches, truncated } = facts;
      if (!Array.isArray(matches)) return null;
      return truncated === true ? `more than ${matches.length} matches` : count(matches.length, 'match', 'matches');
    }
    case 'read_file':
      return readWords(facts);
    case 'write_file':
      return typeof facts['bytes'] === 'number'
        ? `${facts['created'] === true ? 'created' : 'replaced'}, ${counted(facts['bytes'], 'byte')}`
        : null;
    case 'edit_file': {
      const { addedLines, removedLines } = facts;
      return typeof addedLines === 'number' && typeof removedLines === 'number'
        ? `+${addedLines} -${removedLines} lines`
        : null;
    }
    case TODO_TOOL: {
      const items = todoItems(facts);
      return items && `${items.filter(({ status }) => status === 'completed').length} of ${items.length} done`;
    }
    default:
      return null;
  }
}

function readWords({ totalLines, firstLine, lastLine, bytes, mediaType }: JsonObject): string | null {
  if (typeof mediaType === 'string' && typeof bytes === 'number') return `${mediaType}, ${counted(bytes, 'byte')}`;
  if (typeof firstLine !== 'number' || typeof lastLine !== 'number') return null;
  const range = `lines ${firstLine} to ${lastLine}`;
  // Null: there are more than anyone counted.
  if (typeof totalLines !== 'number') return range;
  const isWhole = lastLine === 0 || (firstLine === 1 && lastLine === totalLines);
  return isWhole ? counted(totalLines, 'line') : `${range} of ${totalLines.toLocaleString('en-US')}`;
}

function commandOutcome({ exitCode, signal, timedOut }: JsonObject): Outcome | null {
  if (timedOut === true) return { words: 'timed out', isBad: true };
  if (typeof exitCode === 'number') return { words: `exit code ${exitCode}`, isBad: exitCode !== 0 };
  return typeof signal === 'string' ? { words: `ended by ${signal}`, isBad: true } : null;
}

const count = (number: number, one: string, many: string): string =>
  `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`;
