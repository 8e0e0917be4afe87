// A folder, a provider, and the executable between them: what conversations of clients are tested in.

import { fakeProvider } from '@treadle/testing';
import { expect } from 'vitest';

import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { temporaryFolder } from '../harness.ts';
import { query, userMessage, type Json, type Options, type Query, type Testing, type UserMessage } from './client.ts';
import { transcript } from './transcript.ts';

const executable = join(dirname(fileURLToPath(import.meta.url)), '../../../bin/treadle-agent-sdk.js');

/** What a test says of a session. */
export type Said = Partial<Options>;

/** A folder with its own home beside it, and a provider whose turns are given. */
export async function world(turns: Parameters<typeof fakeProvider>[0]) {
  const place = await temporaryFolder();
  const folder = join(place.path, 'work');
  const home = join(place.path, 'home');
  await Promise.all([folder, home].map((path) => mkdir(path)));
  const provider = await fakeProvider(turns);
  const started: Query[] = [];
  const environment = {
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
    HOME: home,
    ANTHROPIC_BASE_URL: provider.url,
    ANTHROPIC_API_KEY: 'sk-test',
  };
  const options = (said: Said): Options => ({
    pathToClaudeCodeExecutable: executable,
    cwd: folder,
    model: 'claude-sonnet-5-5',
    ...said,
    env: { ...environment, ...said.env },
  });
  const drive = (prompt: string | AsyncIterable<UserMessage>, said: Said = {}, testing: Testing = {}): Query => {
    const running = query({ prompt, options: options(said) }, testing);
    started.push(running);
    return running;
  };
  return {
    folder,
    home,
    provider,
    environment,
    executable,
    options,
    drive,
    async [Symbol.asyncDispose]() {
      for (const { child } of started) child.kill('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      await provider.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** All messages of a session to its end. */
export async function all(running: AsyncIterable<Json>): Promise<Json[]> {
  const messages: Json[] = [];
  for await (const message of running) messages.push(message);
  return messages;
}

/** A transcript of a conversation, for its golden file. */
export function recorded(w: { readonly folder: string; readonly home: string }) {
  const lines = transcript({
    [w.folder]: '/work',
    [w.home]: '/home',
    [w.folder.replaceAll(/[^A-Za-z0-9]/g, '-')]: '-work',
    [dirname(w.folder)]: '/place',
  });
  const golden = join(dirname(fileURLToPath(import.meta.url)), '../../agent-sdk/golden');
  return {
    testing: { onLine: lines.onLine },
    matches: (name: string) => expect(lines.text()).toMatchFileSnapshot(join(golden, `${name}.jsonl`)),
  };
}

export const last = (messages: readonly Json[]): Json => messages.at(-1) ?? {};

/** Messages of the user's that a test gives one by one. */
export function prompts() {
  const queue: UserMessage[] = [];
  let wake: () => void = () => {};
  let isOver = false;
  return {
    say(content: unknown, uuid?: string): void {
      queue.push(userMessage(content, uuid));
      wake();
    },
    end(): void {
      isOver = true;
      wake();
    },
    async *[Symbol.asyncIterator](): AsyncGenerator<UserMessage> {
      for (;;) {
        const next = queue.shift();
        if (next) yield next;
        else if (isOver) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

/** The messages until one is of that type, which is the last of them. */
export async function until(messages: AsyncIterator<Json>, type: string): Promise<Json[]> {
  const seen: Json[] = [];
  for (;;) {
    const next = await messages.next();
    if (next.done === true) throw new Error(`It ended without a message of the type ${type}.`);
    seen.push(next.value);
    if (next.value['type'] === type) return seen;
  }
}
