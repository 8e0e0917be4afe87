// An editor: the official SDK's client with a scripted user, and the real `treadle acp` as its agent.

import {
  client,
  methods,
  ndJsonStream,
  RequestError,
  type AnyMessage,
  type ClientCapabilities,
  type ClientContext,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type RequestPermissionRequest,
  type SessionUpdate,
  type Stream,
} from '@agentclientprotocol/sdk';

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import process from 'node:process';
import { Readable, Writable } from 'node:stream';

import { schemaProblems, type Sent } from './acp-schema.ts';
import { bin } from './process.ts';

/** What a scripted user and their editor do. */
export interface EditorScript {
  readonly capabilities: ClientCapabilities;
  /** Which option of a question of permission is chosen, by its kind; `cancelled` as after a cancellation. */
  readonly permit?: (request: RequestPermissionRequest) => string | Promise<string>;
  readonly fill?: (form: CreateElicitationRequest) => CreateElicitationResponse;
  /** What files hold that are open and not saved, by path. */
  readonly buffers?: Map<string, string>;
}

export interface EditorOptions extends EditorScript {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** An editor with its agent. */
export interface Editor extends AsyncDisposable {
  readonly agent: ClientContext;
  readonly child: ChildProcessWithoutNullStreams;
  /** All that was sent, in both directions. */
  readonly conversation: readonly Sent[];
  /** The updates of a session, oldest first. */
  updates(sessionId: string): readonly SessionUpdate[];
  /** The questions of permission that were asked. */
  readonly asked: readonly RequestPermissionRequest[];
  readonly terminals: readonly EditorTerminal[];
  stderr(): string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
}

interface EditorTerminal {
  readonly id: string;
  readonly child: ChildProcessWithoutNullStreams;
  output: string;
  readonly exit: Promise<{ exitCode: number | null; signal: string | null }>;
  isReleased: boolean;
}

/** Starts an agent as an editor does, and says hello. */
export async function openEditor(options: EditorOptions): Promise<Editor> {
  const child = spawn(process.execPath, [bin, 'acp', ...(options.args ?? [])], {
    cwd: options.cwd,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: options.cwd,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      ...options.env,
    },
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // What an agent that was killed doesn't read any more.
  child.stdin.on('error', () => {});
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const conversation: Sent[] = [];
  const updates = new Map<string, SessionUpdate[]>();
  const asked: RequestPermissionRequest[] = [];
  const terminals: EditorTerminal[] = [];
  const terminal = (id: string): EditorTerminal => {
    const found = terminals.find((one) => one.id === id);
    if (!found || found.isReleased) throw RequestError.resourceNotFound(id);
    return found;
  };
  const app = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.set(params.sessionId, [...(updates.get(params.sessionId) ?? []), params.update]);
    })
    .onRequest(methods.client.session.requestPermission, async ({ params }) => {
      asked.push(params);
      const kind = await (options.permit?.(params) ?? 'allow_once');
      const option = params.options.find((one) => one.kind === kind || one.optionId === kind);
      return { outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' } };
    })
    .onRequest(methods.client.elicitation.create, ({ params }) => options.fill?.(params) ?? { action: 'cancel' })
    .onRequest(methods.client.fs.readTextFile, async ({ params: { path } }) => ({
      content: options.buffers?.get(path) ?? (await readFile(path, 'utf8')),
    }))
    .onRequest(methods.client.fs.writeTextFile, async ({ params: { path, content } }) => {
      options.buffers?.delete(path);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
      return {};
    })
    .onRequest(methods.client.terminal.create, ({ params }) => {
      const env = Object.fromEntries((params.env ?? []).map(({ name, value }) => [name, value]));
      const started = spawn(params.command, params.args ?? [], {
        cwd: params.cwd ?? options.cwd,
        env: { ...process.env, ...env },
        detached: true,
      });
      const opened: EditorTerminal = {
        id: `terminal-${terminals.length + 1}`,
        child: started,
        output: '',
        isReleased: false,
        exit: new Promise((resolve) =>
          started.once('close', (exitCode, signal) => resolve({ exitCode, signal: signal ?? null })),
        ),
      };
      for (const stream of [started.stdout, started.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => (opened.output += text));
      terminals.push(opened);
      return { terminalId: opened.id };
    })
    .onRequest(methods.client.terminal.output, ({ params: { terminalId } }) => ({
      output: terminal(terminalId).output,
      truncated: false,
    }))
    .onRequest(methods.client.terminal.waitForExit, ({ params: { terminalId } }) => terminal(terminalId).exit)
    .onRequest(methods.client.terminal.kill, ({ params: { terminalId } }) => {
      const { pid } = terminal(terminalId).child;
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      return {};
    })
    .onRequest(methods.client.terminal.release, ({ params: { terminalId } }) => {
      terminal(terminalId).isReleased = true;
      return {};
    });
  const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>);
  const connection = app.connect(tapped(stream, conversation));
  return {
    agent: connection.agent,
    child,
    conversation,
    updates: (sessionId) => updates.get(sessionId) ?? [],
    asked,
    terminals,
    stderr: () => stderr,
    ended,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
      connection.close();
    },
  };
}

/** Notes every message that passes. */
function tapped({ readable, writable }: Stream, conversation: Sent[]): Stream {
  const note = (from: Sent['from']) =>
    new TransformStream<AnyMessage, AnyMessage>({
      transform(message, controller) {
        conversation.push({ from, message: structuredClone(message) });
        controller.enqueue(message);
      },
    });
  const out = note('client');
  // It ends with the agent.
  out.readable.pipeTo(writable).catch(() => {});
  return { readable: readable.pipeThrough(note('agent')), writable: out.writable };
}

/** What the schemas find wrong with all that an editor and its agent said. */
export const problemsOf = ({ conversation }: Editor): string[] => schemaProblems(conversation);
