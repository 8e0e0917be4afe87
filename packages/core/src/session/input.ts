import type { InputMessage } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import { checkContent } from '../messages/check.ts';
import type { UserContent } from '../messages/content.ts';

/** One user message as a caller may write it. */
export type UserInput = string | readonly UserContent[] | MessageInput;

/** A message with what is said about it. */
export interface MessageInput {
  readonly content: string | readonly UserContent[];
  /** True keeps it in the model's view whatever a compaction removes. */
  readonly pinned?: boolean;
}

/**
 * What `prompt` takes: a text, blocks, a list of messages, or a stream of messages. The first message of a stream starts
 * the run; later ones are delivered as follow-ups, and the run stays open until the stream ends.
 */
export type PromptInput = UserInput | readonly MessageInput[] | AsyncIterable<UserInput>;

/** True for a stream of messages. */
export function isStream(input: PromptInput): input is AsyncIterable<UserInput> {
  return typeof input === 'object' && input !== null && Symbol.asyncIterator in input;
}

/** @throws TreadleError `empty_prompt` when nothing is said, `invalid_messages` when it isn't of that shape. */
export function userMessages(input: Exclude<PromptInput, AsyncIterable<UserInput>>): InputMessage[] {
  if (
    Array.isArray(input) &&
    input.length > 0 &&
    input.every((part: unknown) => isJsonObject(part) && 'content' in part)
  ) {
    return (input as readonly MessageInput[]).map((part) => userMessage(part));
  }
  return [userMessage(input as UserInput)];
}

/** @throws TreadleError `empty_prompt` when nothing is said, `invalid_messages` when it isn't of that shape. */
export function userMessage(input: UserInput): InputMessage {
  // Callers may be JavaScript, and a log must hold nothing that no model takes.
  const written: unknown = isJsonObject(input) ? input['content'] : input;
  const blocks = checkContent(written, 'user', 'the prompt') as unknown as readonly UserContent[];
  const said = blocks.filter((block) => block.type !== 'text' || block.text.trim() !== '');
  if (said.length === 0) {
    throw new TreadleError('empty_prompt', 'The message is empty. Give a text, an image or a file.');
  }
  const isPinned = isJsonObject(input) && input['pinned'] === true;
  return isPinned ? { content: said, pinned: true } : { content: said };
}
