import type { JsonObject, Tool, ToolOutput, ToolResult } from '@treadle/core';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { idOfBytes } from '../files/checkpoint.ts';

/** A fresh folder with a root folder `root` and, beside it, a folder `outside`. Removed when the test ends. */
export interface Workspace {
  readonly root: string;
  readonly outside: string;
  /** Writes a file below the workspace's folder and returns its absolute path. */
  put(path: string, content: string | Uint8Array, mode?: number): Promise<string>;
}

export async function workspace(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<Workspace> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'treadle-tools-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const put: Workspace['put'] = async (path, content, mode) => {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    if (mode !== undefined) await chmod(file, mode);
    return file;
  };
  await mkdir(join(folder, 'root'));
  await put('outside/secret.txt', 'SECRET outside\n');
  for (const [path, content] of Object.entries(files)) await put(`root/${path}`, content);
  return { root: join(folder, 'root'), outside: join(folder, 'outside'), put };
}

/** What a tool answered, with its text in one piece. */
export interface Answer {
  readonly text: string;
  readonly isError: boolean;
  readonly details: JsonObject;
  readonly content: ToolResult['content'];
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly confined?: boolean;
  readonly onUpdate?: (partial: ToolOutput) => void;
  /** The model knows every file below this folder as it is when it makes the call. Default: it knows none. */
  readonly knows?: string;
  readonly maxResultTokens?: number;
}

/** Checks the arguments as the loop does, then calls the tool. */
export async function call(tool: Tool, args: JsonObject, options: CallOptions = {}): Promise<Answer> {
  const checked = await tool.check(args);
  if (!checked.ok) throw new Error(`arguments refused: ${JSON.stringify(checked.issues)}`);
  if (tool.execute === undefined) throw new Error('not a server tool');
  const { knows } = options;
  const output: unknown = await tool.execute(checked.value, {
    sessionId: 'session',
    runId: 'run',
    callId: 'call',
    toolName: tool.name,
    context: undefined,
    idempotencyKey: 'key',
    ...(options.confined === true && { confined: true }),
    lastRead: (path) => (knows === undefined ? null : hashOf(join(knows, path))),
    signal: options.signal ?? new AbortController().signal,
    ...(options.maxResultTokens === undefined ? {} : { maxResultTokens: options.maxResultTokens }),
    update: (partial) => options.onUpdate?.(partial),
    progress: () => {},
  });
  if (typeof output !== 'object' || output === null || !('content' in output))
    throw new Error('a built-in tool answers with a result');
  const { content, isError = false, details } = output as ToolResult;
  const text =
    typeof content === 'string'
      ? content
      : content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  if (typeof details !== 'object' || details === null || !isObject(details))
    throw new Error('every result has details');
  // The next request must be valid JSON, whatever the tool met.
  JSON.parse(JSON.stringify(output));
  return { text, isError, details, content };
}

function hashOf(path: string): string | null {
  try {
    return idOfBytes(readFileSync(path));
  } catch {
    // Swapped away by the test.
    return null;
  }
}

function isObject(value: object): value is JsonObject {
  return !Array.isArray(value);
}
