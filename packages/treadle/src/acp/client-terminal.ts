import type { TerminalHandle } from '@agentclientprotocol/sdk';
import type { Tool, ToolContext, ToolResult } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { systemClock } from '@treadle/core/ports';
import { defaultDenyPatterns } from '@treadle/tools';

import type { ClientLink } from './host.ts';

const TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
const OUTPUT_BYTES = 262_144;

/** Programs that would wait for somebody at the keyboard. */
const ENV = ['PAGER', 'GIT_PAGER'].map((name) => ({ name, value: 'cat' }));

/**
 * The tool `bash` with its commands in terminals of the client, where their user sees them run. No sandbox holds these: it is
 * for where none would. Background tasks stay what they are.
 */
export function inTerminals(
  bash: Tool,
  { client, sessionId, folder }: { readonly client: ClientLink; readonly sessionId: string; readonly folder: string },
): Tool {
  return {
    ...bash,
    execute(args, context) {
      if (context.taskId !== undefined || !isJsonObject(args)) return bash.execute?.(args, context);
      const { command, timeout_ms: timeout } = args;
      // What our own refuses, it says why.
      if (typeof command !== 'string' || isRefused(command)) return bash.execute?.(args, context);
      const timeoutMs = Math.min(typeof timeout === 'number' ? timeout : TIMEOUT_MS, MAX_TIMEOUT_MS);
      const start = () =>
        client.context.createTerminal({
          sessionId,
          command: 'bash',
          args: ['-c', command],
          env: ENV,
          cwd: folder,
          outputByteLimit: OUTPUT_BYTES,
        });
      return run(start, timeoutMs, context);
    },
  };
}

const LONGEST_CHECKED = 100_000;

const isRefused = (command: string): boolean =>
  command.trim() === '' ||
  command.length > LONGEST_CHECKED ||
  command.includes('\0') ||
  defaultDenyPatterns.some(({ pattern }) => pattern.test(command));

async function run(
  start: () => Promise<TerminalHandle>,
  timeoutMs: number,
  { signal, update }: ToolContext,
): Promise<ToolResult> {
  if (signal.aborted) return { content: 'The command was aborted.', isError: true };
  await using terminal = await start();
  update({ content: '', details: { terminalId: terminal.id } });
  let stopped: 'aborted' | 'timeout' | null = null;
  const stop = (why: 'aborted' | 'timeout'): void => {
    stopped ??= why;
    // A client that is gone has ended its terminals.
    terminal.kill().catch(() => {});
  };
  const aborted = (): void => stop('aborted');
  signal.addEventListener('abort', aborted, { once: true });
  const cancel = systemClock.after(timeoutMs, () => stop('timeout'));
  try {
    const { exitCode, signal: killedBy } = await terminal.waitForExit();
    const { output, truncated } = await terminal.currentOutput();
    return report({ exitCode: exitCode ?? null, killedBy: killedBy ?? null, output, truncated, stopped, timeoutMs });
  } finally {
    cancel();
    signal.removeEventListener('abort', aborted);
  }
}

interface Ended {
  readonly exitCode: number | null;
  readonly killedBy: string | null;
  readonly output: string;
  readonly truncated: boolean;
  readonly stopped: 'aborted' | 'timeout' | null;
  readonly timeoutMs: number;
}

/** What the model reads, in the form that `bash` has. */
function report({ exitCode, killedBy, output, truncated, stopped, timeoutMs }: Ended): ToolResult {
  const lines = [
    `exit code ${exitCode ?? `none${killedBy === null ? '' : ` (${killedBy})`}`}`,
    ...(stopped === 'timeout' ? [`[timed out after ${timeoutMs / 1000} s: the command was killed]`] : []),
    ...(stopped === 'aborted' ? ['[aborted: the command was killed]'] : []),
    ...(truncated ? ['[the beginning of the output is left out]'] : []),
    output === '' ? 'output: (empty)' : `output:\n${output.trimEnd()}`,
  ];
  const details = { exitCode, signal: killedBy, timedOut: stopped === 'timeout', sandboxed: false };
  return { content: lines.join('\n'), isError: stopped === 'aborted', details };
}
