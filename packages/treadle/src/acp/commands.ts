import type { AvailableCommand } from '@agentclientprotocol/sdk';
import type { Session, UserContent, UserInput } from '@treadle/core';
import type { MessageInput } from '@treadle/core/session';

/** What a command has the model told: one message, or several. */
export type CommandPrompt = UserInput | readonly MessageInput[];

/** A slash command: what it makes of the words after its name. */
export interface SlashCommand extends AvailableCommand {
  /** Input for the model, or a text for the user where the command was all there is to do. */
  run(words: string, session: Session): Promise<{ readonly prompt: CommandPrompt } | { readonly text: string }>;
}

/** The commands that every session has. */
export const OWN_COMMANDS: readonly SlashCommand[] = [
  {
    name: 'compact',
    description: 'Make the conversation smaller; words say what a summary must keep.',
    input: { hint: 'what to keep' },
    async run(words, session) {
      const { tokensBefore, tokensAfter } = await session.compact(words === '' ? {} : { instructions: words });
      return { text: `The conversation has ${tokensAfter} tokens now, and had ${tokensBefore}.` };
    },
  },
  {
    name: 'clear',
    description: 'Forget the conversation. The log keeps what happened.',
    async run(_words, session) {
      await session.reset();
      return { text: 'The model starts over.' };
    },
  },
];

/** The command that reads a skill and does what it is for. */
export const skillCommand = (name: string, description: string): SlashCommand => ({
  name,
  description,
  input: { hint: 'what to do' },
  run: async (words) => ({ prompt: `Use the skill ${name}.${words === '' ? '' : `\n\n${words}`}` }),
});

/** The commands as a client is told of them. */
export const available = (commands: readonly SlashCommand[]): AvailableCommand[] =>
  commands.map(({ name, description, input }) => ({ name, description, ...(input ? { input } : {}) }));

/** The command that a prompt begins with, and the words after it; null for a plain prompt. */
export function commandOf(
  commands: readonly SlashCommand[],
  content: readonly UserContent[],
): { readonly command: SlashCommand; readonly words: string } | null {
  const [first, ...rest] = content;
  const match = first?.type === 'text' ? /^\/(\S+)\s*([\s\S]*)$/.exec(first.text) : null;
  const command = commands.find(({ name }) => name === match?.[1]);
  if (!command) return null;
  const others = rest.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return { command, words: [match?.[2]?.trim() ?? '', ...others].filter((text) => text !== '').join('\n') };
}

/** The messages of a prompt, one by one. */
export const messagesOf = (prompt: CommandPrompt): readonly UserInput[] =>
  Array.isArray(prompt) && prompt.every((part: object) => 'content' in part)
    ? (prompt as readonly MessageInput[])
    : [prompt as UserInput];
