import type { JsonSchema } from '@treadle/core';

/** What a call names: the server its tool is on, and the tool. Undefined until it was read whole. */
export interface CallNames {
  readonly server: string | undefined;
  readonly tool: string | undefined;
}

/** Finds the schema of a tool's arguments, so that text can become numbers and lists. */
export type SchemaOf = (names: CallNames) => JsonSchema | undefined;

/** Why the body of an element is not a call, as data and in words for the model. */
export interface BodyProblem {
  readonly reason: 'invalid_json' | 'invalid_xml' | 'too_deep';
  readonly message: string;
}

/**
 * Reads the inside of one `<tool>` element while it arrives. Each character is looked at once.
 *
 * It reads up to and with `</tool>`; where that is decides the body itself, for a string in it may hold the same letters.
 */
export interface Body {
  /** Takes `text` from `from` on. Returns where it stopped: behind the element, at what is wrong, or at the text's end. */
  push(text: string, from: number): number;
  readonly state: 'open' | 'closed' | 'failed';
  readonly names: CallNames;
  /** Argument text that was read since the last time. */
  takeArguments(): string;
  /** All of the arguments as JSON text, once the body is closed; '' when there are none. */
  readonly argumentsText: string;
  /** Set when `state` is `failed`. */
  readonly problem: BodyProblem | null;
  /** The text ended without `</tool>`: true when the call is whole all the same. */
  end(): boolean;
}

/** What ends an element. */
export const CLOSE = '</tool>';

/** White space, as both forms of a body know it. */
export const isSpace = (char: string): boolean => char === ' ' || char === '\n' || char === '\r' || char === '\t';
