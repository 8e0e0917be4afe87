import type { ToolResultContent } from '@treadle/core';
import type { StreamEnd } from './encoder.ts';

/** Why a stream broke off, for a person to read. */
export function endMessage(end: Exclude<StreamEnd, { reason: 'finished' }>): string {
  switch (end.reason) {
    case 'removed':
      return 'The session was deleted.';
    case 'draining':
      return 'The server is about to stop. The run goes on: ask for its stream again.';
    case 'failed':
      return end.message;
  }
}

/** A tool's result as text; what is no text is named by its media type. */
export function resultText(content: readonly ToolResultContent[]): string {
  return content
    .map((block) => (block.type === 'text' ? block.text : `[${block.type}: ${block.mediaType}]`))
    .join('\n');
}
