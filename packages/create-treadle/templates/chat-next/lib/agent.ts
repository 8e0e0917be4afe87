import { builtInTools, defineAgent, defineTool, type Model } from 'treadle';
import { z } from 'zod';

/** A tool of your own. Its arguments are typed by the schema, and a person approves each call. */
export const sendEmail = defineTool({
  name: 'send_email',
  description: 'Sends an email.',
  inputSchema: z.object({ to: z.email(), subject: z.string(), text: z.string() }),
  approval: 'always',
  execute: ({ to, subject }) => `Sent "${subject}" to ${to}. (This is where you call your mail service.)`,
});

/** An agent that works in a folder: it reads unasked, and asks before it writes. */
export const createAgent = (model: Model, folder: string) =>
  defineAgent({
    model,
    instructions: 'You help in a folder of files. Be brief.',
    tools: [...builtInTools({ root: folder }), sendEmail],
  });
