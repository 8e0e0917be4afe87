import { errorText, type JsonObject, type JsonValue, type Run, type Session, type UserInput } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { randomUUID } from 'node:crypto';

/** A line of the user's that waits for its turn. */
interface Queued {
  readonly uuid: string;
  readonly line: JsonObject;
}

/** What a conversation tells of itself. */
export interface ConversationParts {
  /** As it is now: `refresh` may open it anew. */
  readonly session: Session;
  /** Takes what has changed since the last turn. */
  readonly refresh: () => Promise<void>;
  /** What is left to spend, in US dollars; null for no limit. */
  readonly budget: () => number | null;
  /** How a run goes on that waits for somebody; null when nobody is there to answer. */
  readonly answer: (session: Session) => Promise<Run>;
  /** A run that never began, or could not be driven. */
  readonly failed: (message: string) => void;
  /** A turn without a run: the conversation itself was changed. */
  readonly done: (message: string) => void;
  /** What a text like `/name` stands for; null when it is none. */
  readonly expand: (text: string) => string | null;
}

/** The user's lines, one after the other, each with a run of its own. */
export interface Conversation {
  add(line: JsonObject): void;
  /** Ids of the lines that wait. */
  waiting(): readonly string[];
  /** Takes lines back that wait; returns their ids. */
  drop(uuid?: string): readonly string[];
  /** Resolves once no line waits and no run is driven. */
  done(): Promise<void>;
}

/** @param parts resolves when the session is open; lines that come before wait for it */
export function createConversation(parts: () => Promise<ConversationParts>): Conversation {
  let queue: Queued[] = [];
  let working: Promise<void> | null = null;

  async function work(): Promise<void> {
    const opened = await parts();
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      try {
        await opened.refresh();
        await turn(opened, next);
      } catch (error) {
        opened.failed(errorText(error));
      }
    }
  }

  function start(): void {
    working ??= work()
      // What keeps a session from being opened ends the process.
      .catch(() => {
        queue = [];
      })
      .finally(() => {
        working = null;
        // One may have come while the last one ended.
        if (queue.length > 0) start();
      });
  }

  return {
    add(line) {
      queue.push({ uuid: typeof line['uuid'] === 'string' ? line['uuid'] : randomUUID(), line });
      start();
    },
    waiting: () => queue.map(({ uuid }) => uuid),
    drop(uuid) {
      const dropped = queue.filter((one) => uuid === undefined || one.uuid === uuid);
      queue = queue.filter((one) => !dropped.includes(one));
      return dropped.map((one) => one.uuid);
    },
    async done() {
      while (working !== null) await working;
    },
  };
}

async function turn(parts: ConversationParts, { uuid, line }: Queued): Promise<void> {
  const { session, budget, answer } = parts;
  const said = inputOf(line);
  // A background task may have woken the session.
  await session.idle();
  if (session.status === 'idle' && (await ownCommand(parts, said))) return;
  const input = withCommand(said, parts);
  const left = budget();
  const options = { metadata: { uuid }, ...(left === null ? {} : { limits: { maxCost: Math.max(left, 1e-9) } }) };
  let run: Run;
  if (session.status === 'idle') run = session.prompt(input, options);
  else {
    // The run that a dead process has left goes on, with what it was asked before, and then reads this.
    await session.followUp(input);
    run = session.status === 'paused' ? await answer(session) : session.resume();
  }
  while ((await run.outcome) === 'paused') run = await answer(session);
}

/** The text of an input that is nothing else. */
function textOf(input: UserInput): string | null {
  if (typeof input === 'string') return input;
  const blocks: readonly unknown[] = Array.isArray(input) ? input : [];
  const [block] = blocks;
  return blocks.length === 1 && isJsonObject(block) && typeof block['text'] === 'string' ? block['text'] : null;
}

/** Does what `/compact` and `/clear` say. False for everything else. */
async function ownCommand({ session, done }: ConversationParts, input: UserInput): Promise<boolean> {
  const [, name, instructions = ''] = /^\/(compact|clear)(?:\s+([\s\S]*))?$/.exec(textOf(input)?.trim() ?? '') ?? [];
  if (name === undefined) return false;
  if (name === 'clear') await session.reset();
  else await session.compact(instructions === '' ? {} : { instructions });
  done(name === 'clear' ? 'The conversation is forgotten.' : 'The conversation is summed up.');
  return true;
}

function withCommand(input: UserInput, { expand }: ConversationParts): UserInput {
  const text = textOf(input);
  return (text === null ? null : expand(text)) ?? input;
}

/** The content of a line of the user's. @throws Error for what is no message. */
function inputOf({ message }: JsonObject): UserInput {
  const { content } = isJsonObject(message) ? message : {};
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw new Error('A user message needs content: a text, or a list of blocks.');
  return (content as readonly JsonValue[]).map(blockOf);
}

type Block = Exclude<UserInput, string | { readonly content: unknown }>[number];

function blockOf(block: JsonValue): Block {
  const { type, text, source, title } = isJsonObject(block) ? block : {};
  if (type === 'text' && typeof text === 'string') return { type, text };
  if ((type === 'image' || type === 'document') && isJsonObject(source)) {
    const kind = type === 'image' ? 'image' : 'file';
    const { type: by, data, url, media_type: given } = source;
    const mediaType = typeof given === 'string' ? given : type === 'image' ? 'image/png' : 'application/pdf';
    const name = kind === 'file' && typeof title === 'string' ? { name: title } : {};
    if (by === 'url' && typeof url === 'string') return { type: kind, mediaType, url, ...name };
    if (by === 'text' && typeof data === 'string') return { type: 'text', text: data };
    if (typeof data === 'string') return { type: kind, mediaType, data, ...name };
  }
  throw new Error(`A block of type ${JSON.stringify(type)} can't be read: text, image and document are known.`);
}
