import type { ToolCallBlock } from '@treadle/core';
import { callElement, type CallForm } from './element.ts';

const SNIPPET = 300;

/** What is said to a model whose call could not be used, so that its next one can. */
export interface RecoveryFacts {
  readonly form: CallForm;
  /** The tools there are. */
  readonly toolNames: readonly string[];
}

/** A reply that called nothing. */
export const noCallRecovery = (words: string, { form }: RecoveryFacts): string =>
  `${words}\nA tool is called like this:\n${exampleCall(form)}`;

/** A call that could not be read. */
export function unreadableRecovery(call: ToolCallBlock, result: string, { form }: RecoveryFacts): string {
  const written = call.argumentsText ?? '';
  const snippet = written.length > SNIPPET ? `${written.slice(0, SNIPPET)}…` : written;
  const began = snippet === '' ? '' : `\nYou wrote:\n${snippet}`;
  return `${result}${began}\nSend the call again, whole, as one element and with nothing behind it:\n${exampleCall(form)}`;
}

/** A call of a tool that isn't there. */
export function unknownToolRecovery({ name }: ToolCallBlock, { form, toolNames }: RecoveryFacts): string {
  if (toolNames.length === 0) return `There is no tool named "${name}". There are no tools. Answer in words.`;
  return (
    `There is no tool named "${name}". The tools are: ${toolNames.join(', ')}.\n` +
    `Call one of them by its own server_name and tool_name:\n${exampleCall(form)}`
  );
}

/** How a call looks, with names nobody takes for real ones. */
export const exampleCall = (form: CallForm): string => callElement('NAME_OF_THE_TOOL', { argument: 'value' }, form);
