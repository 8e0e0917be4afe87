import { errorText, type PendingCall, type TreadleEvent } from '@treadle/core';

import { askForm } from '../asking/ask-form.ts';
import { askPermission, type ApprovalQuestion } from '../asking/ask-permission.ts';
import type { Asking } from '../asking/ask-user.ts';
import { openTerminal, readLines, type Terminal } from '../asking/terminal.ts';
import type { CommandContext } from '../context.ts';
import { createTextOutput } from '../output/text-output.ts';
import { toolLabels } from '../output/tool-labels.ts';
import { styleFor } from '../style.ts';
import type { AttachedSession } from './session.ts';
import { saidBy } from './who.ts';

/** A call that waits for a person, here or anywhere. */
interface OpenQuestion {
  readonly call: PendingCall;
  readonly question: ApprovalQuestion | null;
  /** Resolves when it is answered. */
  readonly closed: PromiseWithResolvers<void>;
}

/**
 * Shows a session, and puts what is typed into it, until it is left or deleted. Where nobody is at a terminal, it shows the
 * session up to the end of its run.
 */
export async function readAlong(
  context: CommandContext,
  session: AttachedSession,
  self: string,
  preview: (call: PendingCall) => Promise<string | null>,
): Promise<void> {
  const { io, out, note, interruptions } = context;
  const style = styleFor(out.isTTY, io.env);
  const label = await toolLabels(io.cwd);
  const after = out.isTTY ? { after: io.after.bind(io) } : {};
  const text = createTextOutput({ out, note, style, label, showPrompts: true, ...after });
  const lines = readLines(io.stdin);
  const terminal = openTerminal(io, out, lines);
  const left = Promise.withResolvers<void>();
  const stopped = Promise.race([left.promise, interruptions.first]);
  let isLeft = false;
  let isRunning = false;
  let driver = 'the terminal that drives it';
  const requested = new Map<string, ApprovalQuestion>();
  const open = new Map<string, OpenQuestion>();
  let changed = Promise.withResolvers<void>();

  function close(approvalId: string): void {
    open.get(approvalId)?.closed.resolve();
    open.delete(approvalId);
  }

  function keep(event: TreadleEvent): void {
    switch (event.type) {
      case 'drive_started':
        driver = event.owner;
        break;
      case 'run_started':
        isRunning = true;
        break;
      case 'approval_requested':
        requested.set(event.approvalId, event);
        break;
      case 'run_paused':
        for (const call of event.pending) {
          if (call.approvalId === undefined || open.has(call.approvalId)) continue;
          const question = requested.get(call.approvalId) ?? null;
          open.set(call.approvalId, { call, question, closed: Promise.withResolvers() });
        }
        break;
      case 'input_received':
        if (event.input.type === 'approval_answer') close(event.input.approvalId);
        break;
      case 'approval_answered':
        close(event.approvalId);
        break;
      case 'run_ended':
        isRunning = false;
        for (const approvalId of open.keys()) close(approvalId);
        break;
      default:
        return;
    }
    changed.resolve();
    changed = Promise.withResolvers();
  }

  async function show(): Promise<void> {
    for await (const event of session.events) {
      keep(event);
      const said = saidBy(event, self, driver);
      if (said !== null) text.remark(`[${said}]`);
      text.take(event);
      if (event.type === 'run_ended' && event.status !== 'completed')
        text.remark(`[${event.status}: ${event.message}]`);
      if (event.type === 'run_ended' && !terminal.isThere) return;
      const clogged = out.flowing();
      if (clogged) await Promise.race([clogged, stopped]);
      if (out.isClosed || isLeft) return;
    }
  }

  async function answer({ call, question, closed }: OpenQuestion): Promise<boolean> {
    const { approvalId } = call;
    if (approvalId === undefined) return true;
    let isClosed = false;
    let isEnded = false;
    const ended = Promise.race([closed.promise, stopped]).then(() => {
      isClosed = true;
    });
    // The end of the input leaves the session, and is no answer.
    const ask: Terminal['ask'] = async (words, until) => {
      const line = await terminal.ask(words, until);
      isEnded ||= line === null && !isClosed;
      isClosed ||= isEnded;
      return line;
    };
    const asking: Asking = { terminal: { ...terminal, ask }, out, style, stopped: ended, isStopped: () => isClosed };
    const typed =
      question?.key === undefined
        ? await askPermission(call, question, asking, { about: null, diff: await preview(call) })
        : await askForm(call, question, asking);
    if (typed === null) {
      terminal.forget?.();
      return !isEnded && !isLeft;
    }
    close(approvalId);
    await session.post({ type: 'approval_answer', approvalId, decision: typed.decision, ...typed.said });
    return true;
  }

  /** What is typed while no question is open: to the run, or the next prompt. False at the end of the input. */
  async function say(): Promise<boolean> {
    const line = await Promise.race([lines.next(), Promise.race([changed.promise, stopped]).then(() => '')]);
    if (line === null) return false;
    if (line.trim() === '') return true;
    const content = [{ type: 'text' as const, text: line }];
    await session.post(
      isRunning ? { type: 'steering', message: { content } } : { type: 'prompt', messages: [{ content }] },
    );
    return true;
  }

  async function listen(): Promise<void> {
    while (!isLeft && interruptions.signal === null) {
      const [question] = open.values();
      try {
        if (!(await (question ? answer(question) : say()))) return;
      } catch (error) {
        // It was somebody else's answer that counted, or the server is away: the session goes on all the same.
        note(errorText(error));
        if (question?.call.approvalId !== undefined) close(question.call.approvalId);
      }
    }
  }

  const shown = show().finally(() => left.resolve());
  if (terminal.isThere) {
    note(`Attached to ${session.id}. What you type goes to the model; Ctrl-D leaves.`);
    await Promise.race([listen(), shown]);
    isLeft = true;
    left.resolve();
    session.close();
  }
  await Promise.race([shown, interruptions.first]);
  text.breakOff();
}
