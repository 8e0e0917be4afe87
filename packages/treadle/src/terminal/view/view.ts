import type { DurableEvent, PendingCall, TreadleEvent, UserContent } from '@treadle/core';
import { isConversation } from '@treadle/core/messages';
import { PLAN_TOOL, planOf, TODO_TOOL, todoItems, type Plan, type TodoItem } from '@treadle/core/projections';

import { plainLine } from '../../cli/asking/plain-text.ts';
import { cost, counted, duration, tokens } from '../../cli/output/figures.ts';
import { argumentsText } from '../../cli/output/tool-line.ts';
import type { BackgroundTask, Block, Queued, SentPrompt } from './blocks.ts';
import { createCells } from './cells.ts';
import { answerWords, bodyText, commandIn, failedWords, ownContent, rowsOfEnd, shortText } from './words.ts';
import { openReply, type OpenReply } from './reply.ts';
import type { OpenQuestion, ViewState } from './state.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

/** Folds the events of a session into what a terminal shows. Pure: the same events make the same screen. */
export interface View {
  take(event: TreadleEvent): void;
  /** What is finished since the last call. */
  finished(): Block[];
  /** Messages that were taken from the queue here since the last call; null when nobody here took any. */
  cleared(): Queued[] | null;
  readonly state: ViewState;
}

const shellBlock = (content: UserContent): Block[] => {
  const ran = commandIn(content);
  return ran ? [{ type: 'shell', ...ran }] : [];
};

/**
 * @param label a tool's name for people
 * @param self who drives here, as `drive_started` says it
 * @param since milliseconds since 1970: answers before then are the user's own where nobody else is named
 */
export function createView({
  label,
  self,
  since = 0,
}: {
  label(toolName: string): string;
  readonly self: string | null;
  readonly since?: number;
}): View {
  const done: Block[] = [];
  const queued = new Map<number, Queued>();
  /** Prompts that nobody has begun to answer, by their inputs. */
  const sent = new Map<number, SentPrompt>();
  let cleared: Queued[] | null = null;
  const questions = new Map<string, OpenQuestion>();
  /** Numbers of the calls whose tasks have ended. */
  const results = new Map<string, number | null>();
  const tasks = new Map<string, BackgroundTask>();
  /** Answers and results that are in the log: their inputs, by question and by call. */
  const given = new Map<string, number>();
  /** Who gave an answer, where the input says it. */
  const saidBy = new Map<string, string>();
  /** Who else has said something, by the input's place in the log. */
  const speakers = new Map<number, string>();
  const prompts: string[] = [];
  const cells = createCells(done);
  let reply: OpenReply | null = null;
  let run: ViewState['run'] = null;
  let paused: readonly PendingCall[] | null = null;
  let todo: readonly TodoItem[] = [];
  let plan: Plan | null = null;
  let status: string | null = null;
  let totalCost = 0;
  let isCostKnown = true;
  let context: { used: number; window: number | null } = { used: 0, window: null };
  let model: string | null = null;
  let title: string | null = null;
  let mode: string | null = null;
  let seq = 0;
  let at = 0;
  let lastReply = '';
  let driver: string | null = null;
  let isKeyRefused = false;

  const notice = (text: string, tone: 'dim' | 'warn' | 'bad' = 'dim'): void => {
    flush();
    done.push({ type: 'notice', text, tone });
  };
  const flush = (): void => {
    if (reply) done.push(...reply.finished());
  };

  function messageAdded({ message, inputSeq, inView }: EventOf<'message_added'>): void {
    if (inputSeq !== undefined) {
      queued.delete(inputSeq);
      sent.delete(inputSeq);
    }
    if (message.role === 'user' && isConversation(message)) {
      const by = inputSeq === undefined ? undefined : speakers.get(inputSeq);
      done.push(...message.content.flatMap((block) => shellBlock(block)));
      const said = ownContent(message.content).filter((block) => commandIn(block) === null);
      if (said.length > 0) {
        const text = shortText(said);
        prompts.push(text);
        done.push({ type: 'prompt', text, whole: bodyText(said), ...(by === undefined ? {} : { by }) });
      }
    }
    if (message.role !== 'assistant') return;
    const open = reply?.messageId === message.id ? reply : openReply(message.id);
    reply = null;
    done.push(...open.end(message));
    if (!inView && message.stopReason === 'error') notice('— the reply broke off —');
    const text = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n\n');
    if (text !== '') lastReply = text;
    const calls = message.content.filter((block) => block.type === 'tool_call');
    for (const call of calls) cells.call(call);
    if (run && calls.length === 0) run = { ...run, isInTurn: false };
  }

  /** The reply is void. Its text stays on the screen, and a line says so. */
  function discard(why: string): void {
    flush();
    const open = reply?.open() ?? [];
    const isFirst = reply?.isShown !== true;
    done.push(...open.map((piece, index): Block => ({ type: 'markdown', piece, isFirst: isFirst && index === 0 })));
    if (open.length > 0 || !isFirst) notice(why);
    reply = null;
  }

  function turnEnded({ usage, cost: spent }: EventOf<'turn_ended'>): void {
    const { input, output, cacheRead, cacheWrite } = usage;
    const read = (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0);
    context = { ...context, used: read + (output ?? 0) };
    totalCost += spent ?? 0;
    isCostKnown &&= spent !== null;
    if (!run) return;
    run = {
      ...run,
      turns: run.turns + 1,
      tokens: run.tokens + read + (output ?? 0),
      cost: spent === null || run.cost === null ? null : run.cost + spent,
    };
  }

  function runEnded(event: EventOf<'run_ended'>): void {
    discard('— the reply broke off —');
    cells.cutOff();
    cells.flush();
    questions.clear();
    if (todo.some(({ status }) => status !== 'completed')) done.push({ type: 'todo', items: todo });
    if (event.status !== 'completed')
      notice(rowsOfEnd(event, isKeyRefused), event.status === 'aborted' ? 'warn' : 'bad');
    const took = run ? ` · ${duration(event.at - run.startedAt)}` : '';
    notice(`${counted(event.turns, 'turn')} · ${tokens(event.usage)} · ${cost(event.cost)}${took}`);
    run = null;
    paused = null;
    todo = [];
    plan = null;
    status = null;
  }

  function inputReceived({ input, seq: number, at: received }: EventOf<'input_received'>): void {
    const by = 'by' in input && input.by !== undefined && input.by !== '' && input.by !== self ? input.by : null;
    if (by !== null) speakers.set(number, by);
    if (by !== null && input.type === 'cancel') notice(`— interrupted by ${plainLine(by, 80)} —`);
    if (input.type === 'prompt') {
      const content = input.messages.flatMap((message) => message.content);
      sent.set(number, { at: received, text: shortText(content), content });
    }
    if (input.type === 'steering' || input.type === 'follow_up') {
      const { content } = input.message;
      queued.set(number, { seq: number, kind: input.type, text: shortText(content), content });
    }
    if (input.type === 'clear_queue') {
      const gone = [...queued.values()].filter(({ kind }) => input.kind === undefined || input.kind === kind);
      for (const message of gone) queued.delete(message.seq);
      if (by === null) cleared = [...(cleared ?? []), ...gone];
    }
    if (input.type === 'approval_answer') {
      given.set(input.approvalId, number);
      if (input.by !== undefined) saidBy.set(input.approvalId, input.by);
    }
    if (input.type === 'client_tool_results') for (const { callId } of input.results) given.set(callId, number);
    if (input.type === 'rename') ({ title } = input);
    // A task is named after its call.
    if (input.type === 'task_ended') results.set(input.taskId, cells.came(input.taskId.slice(5), input.content));
    if (input.type === 'permission_updates') {
      for (const update of input.updates) if (update.type === 'setMode') ({ mode } = update);
    }
    if (input.type === 'import' && input.messages.length === 0) notice('— a new conversation —');
  }

  function inputRejected({ inputSeq, reason }: EventOf<'input_rejected'>): void {
    const text = sent.get(inputSeq)?.text ?? queued.get(inputSeq)?.text;
    if (text !== undefined) notice(`Not answered: ${plainLine(text, 200)} (${plainLine(reason, 200)})`, 'warn');
    sent.delete(inputSeq);
    queued.delete(inputSeq);
  }

  /** Whether what it waited for has come: it goes on, though no event of it says so yet. */
  const goesOn = (pending: readonly PendingCall[]): boolean =>
    pending.some((call) => call.type !== 'client_tool' && given.has(call.approvalId)) ||
    pending.every(({ callId }) => given.has(callId));

  function answered(event: EventOf<'approval_answered'>): void {
    const question = questions.get(event.approvalId);
    questions.delete(event.approvalId);
    paused = null;
    const said = saidBy.get(event.approvalId) ?? (event.at < since ? self : driver);
    const by = said === null || said === self ? 'you' : said;
    if (question) cells.answered(question.callId, answerWords(event, by));
  }

  function toolEnded(event: EventOf<'tool_ended'>): void {
    cells.ended(event);
    if (event.toolName === TODO_TOOL) todo = todoItems(event.details) ?? todo;
    if (event.toolName === PLAN_TOOL) plan = planOf(event.details) ?? plan;
  }

  function taskUpdated({ taskId, status: now, task, message }: EventOf<'task_updated'>): void {
    const known = tasks.get(taskId) ?? { name: 'A task', output: '' };
    if (task) cells.isTask(task.callId);
    const what = task ? argumentsText(task.arguments) : '';
    const name = task ? `${plainLine(label(task.toolName), 60)}${what === '' ? '' : ` · ${what}`}` : known.name;
    if (now === 'pending' || now === 'running') {
      tasks.set(taskId, { ...known, name });
      return;
    }
    tasks.delete(taskId);
    const number = results.get(taskId) ?? null;
    const where = number === null ? '' : ` [#${number}]`;
    notice(`In the background: ${name} · ${now}${message === undefined ? '' : ` (${message})`}${where}`);
  }

  function durable(event: DurableEvent): void {
    ({ seq, at } = event);
    switch (event.type) {
      case 'session_created':
        title = event.title ?? title;
        // A fork leaves what waits to the session that it came from.
        sent.clear();
        queued.clear();
        return;
      case 'drive_started':
        driver = event.owner;
        return;
      case 'input_received':
        inputReceived(event);
        return;
      case 'input_rejected':
        inputRejected(event);
        for (const [id, input] of given) if (input === event.inputSeq) given.delete(id);
        return;
      case 'run_started':
        run = { startedAt: event.at, turns: 0, tokens: 0, cost: 0, isInTurn: false };
        paused = null;
        isKeyRefused = false;
        model = `${event.config.provider}/${event.config.model}`;
        context = { ...context, window: event.config.contextWindow ?? null };
        return;
      case 'message_added':
        messageAdded(event);
        return;
      case 'attempt_failed':
        isKeyRefused = event.error.kind === 'auth';
        if (!event.retry) return;
        discard('— the reply broke off; again —');
        notice(failedWords(event), 'warn');
        return;
      case 'message_discarded':
        discard(event.reason === 'attempt_failed' ? '— the reply broke off; again —' : '— the reply broke off —');
        return;
      case 'tool_started':
        paused = null;
        cells.started(event);
        return;
      case 'tool_ended':
        toolEnded(event);
        return;
      case 'tool_call_rejected':
        cells.rejected(event);
        return;
      case 'approval_requested':
        questions.set(event.approvalId, event);
        cells.asked(event);
        return;
      case 'approval_answered':
        answered(event);
        return;
      case 'run_paused':
        paused = event.pending;
        return;
      case 'decision_made':
        if (event.kind === 'permission') cells.decided(event);
        return;
      case 'turn_started':
        if (run) run = { ...run, isInTurn: true };
        return;
      case 'turn_ended':
        turnEnded(event);
        return;
      case 'compacted':
        notice(
          `The conversation was made smaller: ${event.tokensBefore} → ${event.tokensAfter} tokens. The log keeps all of it.`,
        );
        context = { ...context, used: event.tokensAfter };
        if (run === null) status = null;
        return;
      case 'compaction_failed':
        // The terminal that asked for it prints the error.
        if (event.inputSeq === undefined) notice(event.message, 'warn');
        if (run === null) status = null;
        return;
      case 'task_updated':
        taskUpdated(event);
        return;
      case 'run_ended':
        runEnded(event);
        return;
      default:
    }
  }

  function live(event: Exclude<TreadleEvent, DurableEvent>): void {
    switch (event.type) {
      case 'message_started':
        if (reply) discard('— the reply broke off; again —');
        reply = openReply(event.messageId);
        return;
      case 'message_delta':
        reply ??= openReply(event.messageId);
        if (reply.messageId === event.messageId) reply.take(event);
        return;
      case 'tool_update':
        cells.update(event.callId, bodyText(event.content));
        return;
      case 'tool_progress':
        if (event.text !== undefined) cells.progress(event.callId, event.text);
        return;
      case 'task_progress': {
        const task = tasks.get(event.taskId);
        if (task) tasks.set(event.taskId, { ...task, output: bodyText(event.content) });
        return;
      }
      case 'child_event': {
        const inner = event.event;
        if (inner.type === 'tool_started') cells.progress(event.callId, label(inner.toolName));
        return;
      }
      case 'status':
        ({ status } = event);
        return;
      case 'warning':
        notice(event.message, 'warn');
        return;
      default:
    }
  }

  return {
    take(event) {
      if ('seq' in event) durable(event);
      else live(event);
      cells.flush();
    },
    finished() {
      flush();
      return done.splice(0);
    },
    cleared() {
      const all = cleared;
      cleared = null;
      return all;
    },
    get state(): ViewState {
      const question = [...questions.values()].find(({ approvalId }) => !given.has(approvalId)) ?? null;
      const { open, all } = cells;
      return {
        run,
        paused: paused !== null && goesOn(paused) ? null : paused,
        question,
        cells: open(),
        reply,
        todo,
        plan,
        queued: [...queued.values()],
        sent: [...sent.values()],
        tasks,
        status,
        totalCost,
        isCostKnown,
        context,
        model,
        title,
        mode,
        seq,
        at,
        prompts,
        calls: all,
        lastReply,
        driver,
      };
    },
  };
}
