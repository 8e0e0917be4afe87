import type { AssistantMessage, DurableEvent, JsonObject, ModelError } from '@treadle/core';
import { addUsage } from '@treadle/core/model';
import type { Context, Link } from '@opentelemetry/api';
import { inputMessage, outputMessage, toolResult } from './content.ts';
import type { Facts } from './conventions.ts';
import type { OpenSpan, Recorder } from './recorder.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { readonly type: Type }>;

/** What is asked, when no event of the run's start was seen. */
export interface Asked {
  readonly agentId: string;
  /** The agent's models: the first, then the fallbacks. */
  readonly models: readonly { readonly provider: string; readonly id: string }[];
}

interface OpenRun {
  readonly open: OpenSpan;
  readonly runId: string;
  readonly tools: Map<string, OpenSpan>;
  /** When calls that clients run began: their spans are written when they end, in whichever process. */
  readonly waiting: Map<string, number>;
  chat: OpenSpan | null;
  /** What joined the history since the last model call, while content is recorded. */
  said: JsonObject[];
}

export interface Surroundings {
  readonly recorder: Recorder;
  readonly asked?: Asked;
  /** Where the session's runs belong: below the call that started it, or at the root. */
  parentOf(sessionId: string): Context;
  /** A call has started a session of a sub-agent, or goes on with it. */
  onChild(sessionId: string, call: OpenSpan): void;
}

const errorType = (error: ModelError): string => error.code ?? (error.status ? String(error.status) : error.kind);

const linksTo = (open: OpenSpan | undefined): Link[] => (open ? [{ context: open.span.spanContext() }] : []);

/** Events that a run's span begins with, when it isn't open. */
const OPENS: ReadonlySet<string> = new Set([
  'run_started',
  'turn_started',
  'tool_started',
  'tool_ended',
  'tool_call_rejected',
  'approval_requested',
  'branches_started',
  'branches_ended',
  'run_paused',
  'run_ended',
]);

export type SessionSpans = ReturnType<typeof sessionSpans>;

/** The spans of one session. */
export function sessionSpans(sessionId: string, around: Surroundings) {
  const { recorder, asked } = around;
  const runs = new Map<string, OpenRun>();
  /** The last span of runs that are not over: what goes on is linked to it. */
  const before = new Map<string, { readonly open: OpenSpan; readonly waiting: Map<string, number> }>();
  const tasks = new Map<string, { readonly facts: Facts; readonly at: number; readonly links: Link[] }>();
  let lastAt = 0;

  function openRun(event: DurableEvent & { readonly runId: string }): OpenRun {
    const { runId, at } = event;
    const earlier = before.get(runId);
    before.delete(runId);
    const started = event.type === 'run_started' ? event : null;
    const config: Facts = started
      ? {
          agentId: started.agentId,
          provider: started.config.provider,
          requestModel: started.config.model,
          temperature: started.config.temperature,
          maxTokens: started.config.maxTokens,
        }
      : (earlier?.open.facts ?? { agentId: asked?.agentId, ...modelAt(undefined) });
    const goesOn: Facts = started || event.type === 'run_ended' ? {} : { runContinued: true };
    const facts: Facts = { ...config, operation: 'invoke_agent', sessionId, runId, ...goesOn };
    const open = recorder.start(facts, at, around.parentOf(sessionId), linksTo(earlier?.open));
    const waiting = earlier?.waiting ?? new Map<string, number>();
    const run: OpenRun = { open, runId, tools: new Map(), waiting, chat: null, said: [] };
    runs.set(runId, run);
    return run;
  }

  function modelAt(index: number | undefined): Facts {
    const model = asked?.models[index ?? 0];
    return model ? { provider: model.provider, requestModel: model.id } : {};
  }

  function endTool(run: OpenRun, callId: string, facts: Facts, at: number): void {
    const open = run.tools.get(callId);
    if (!open) return;
    run.tools.delete(callId);
    recorder.end(open, facts, at);
  }

  function endChat(run: OpenRun, facts: Facts, at: number): void {
    if (run.chat) recorder.end(run.chat, facts, at);
    run.chat = null;
  }

  /** Ends a run's span and all below it. */
  function endRun(run: OpenRun, facts: Facts, at: number, errorOfParts: string | undefined): void {
    const cut: Facts = errorOfParts === undefined ? {} : { errorType: errorOfParts };
    endChat(run, cut, at);
    for (const callId of [...run.tools.keys()]) endTool(run, callId, cut, at);
    recorder.end(run.open, facts, at);
    runs.delete(run.runId);
  }

  function beginCall(run: OpenRun, event: EventOf<'turn_started'>): void {
    const { turnIndex, attempt, modelIndex, at } = event;
    const other = modelIndex ? modelAt(modelIndex) : {};
    if (run.chat) {
      run.chat.facts = { ...run.chat.facts, ...other, attempt };
      return;
    }
    const { agentId, provider, requestModel, temperature, maxTokens } = run.open.facts;
    const asks: Facts = { agentId, provider, requestModel, temperature, maxTokens, ...other };
    const facts: Facts = { ...asks, operation: 'chat', sessionId, runId: run.runId, turnIndex, attempt };
    run.chat = recorder.start(facts, at, run.open.context);
  }

  /** A reply, or what there is of one. What attempts before it used is kept. */
  function reply(run: OpenRun, message: AssistantMessage, isFinal: boolean, at: number): void {
    if (!run.chat) return;
    const known = run.chat.facts;
    run.chat.facts = {
      ...known,
      ...spent(known, message.usage, message.cost),
      provider: message.provider,
      responseModel: message.model,
      responseId: message.responseId,
      finishReason: message.rawStopReason ?? message.stopReason,
      requestModel: known.requestModel ?? message.model,
      ...(recorder.content ? { inputMessages: run.said, outputMessages: [outputMessage(message)] } : {}),
    };
    if (!isFinal) return;
    run.said = [];
    endChat(run, {}, at);
  }

  function spent(known: Facts, usage: AssistantMessage['usage'], cost: number | null | undefined): Facts {
    const sum = known.usage ? addUsage(known.usage, usage) : usage;
    return typeof cost === 'number' ? { usage: sum, cost: (known.cost ?? 0) + cost } : { usage: sum };
  }

  function attemptFailed(run: OpenRun, event: EventOf<'attempt_failed'>): void {
    const { error, attempt, retry, at } = event;
    if (!run.chat) return;
    if (event.usage) run.chat.facts = { ...run.chat.facts, ...spent(run.chat.facts, event.usage, event.cost) };
    const failed: Facts = { attempt, errorType: errorType(error), retryDelayMs: retry?.delayMs };
    recorder.event(run.chat, 'treadle.attempt_failed', failed, at);
    if (!retry) endChat(run, { errorType: errorType(error) }, at);
  }

  function callFacts(run: OpenRun, call: { readonly callId: string; readonly toolName: string }): Facts {
    const { callId, toolName } = call;
    const { agentId } = run.open.facts;
    return { operation: 'execute_tool', sessionId, agentId, runId: run.runId, callId, toolName };
  }

  function beginTool(run: OpenRun, event: EventOf<'tool_started'>): void {
    if (event.runs === 'client') {
      run.waiting.set(event.callId, event.at);
      return;
    }
    const said: Facts = recorder.content ? { toolArguments: event.arguments } : {};
    const open = recorder.start({ ...callFacts(run, event), ...said }, event.at, run.open.context);
    run.tools.set(event.callId, open);
    if (event.childSessionId !== undefined) around.onChild(event.childSessionId, open);
  }

  function finishTool(run: OpenRun, event: EventOf<'tool_ended'>): void {
    const { callId, at, content, isError, durationMs, skipped } = event;
    const facts: Facts = {
      ...(isError ? { errorType: 'tool_error' } : {}),
      ...(skipped ? { tool: 'skipped' } : {}),
      ...(recorder.content ? { toolResult: toolResult(content) } : {}),
    };
    if (!run.tools.has(callId)) {
      const from = run.waiting.get(callId) ?? at - durationMs;
      run.waiting.delete(callId);
      run.tools.set(callId, recorder.start({ ...callFacts(run, event), tool: 'client' }, from, run.open.context));
    }
    endTool(run, callId, facts, at);
  }

  function rejectTool(run: OpenRun, event: EventOf<'tool_call_rejected'>): void {
    run.waiting.delete(event.callId);
    if (run.tools.has(event.callId)) {
      endTool(run, event.callId, { errorType: event.reason }, event.at);
      return;
    }
    const { callId, reason, at } = event;
    // A reply without a call is no call.
    if (callId === '') return;
    run.tools.set(callId, recorder.start(callFacts(run, event), at, run.open.context));
    endTool(run, callId, { errorType: reason }, at);
  }

  function task(event: EventOf<'task_updated'>): void {
    const { taskId, status, at, runId } = event;
    const facts: Facts = { operation: 'execute_tool', sessionId, runId, taskId };
    if (event.task) {
      const { callId, toolName } = event.task;
      const run = runId === undefined ? undefined : runs.get(runId);
      const links = linksTo(run?.tools.get(callId) ?? run?.open);
      tasks.set(taskId, { facts: { ...facts, callId, toolName }, at, links });
    }
    if (status === 'pending' || status === 'running') return;
    const begun = tasks.get(taskId) ?? { facts, at, links: [] };
    tasks.delete(taskId);
    const open = recorder.start(begun.facts, begun.at, around.parentOf(sessionId), begun.links);
    recorder.end(open, status === 'completed' ? {} : { errorType: status }, at);
  }

  function runOver(run: OpenRun, event: EventOf<'run_ended'>): void {
    const { status, usage, cost, turns, stopReason, error, at } = event;
    const failed = status === 'completed' ? undefined : error ? errorType(error) : status;
    const facts: Facts = {
      runStatus: status,
      turns,
      usage,
      ...(cost === null ? {} : { cost }),
      ...(stopReason === null ? {} : { finishReason: stopReason }),
      ...(failed === undefined ? {} : { errorType: failed }),
    };
    endRun(run, facts, at, failed ?? 'interrupted');
  }

  function pause(run: OpenRun, event: EventOf<'run_paused'>): void {
    before.set(run.runId, { open: run.open, waiting: run.waiting });
    endRun(run, { runPaused: event.reason }, event.at, undefined);
  }

  function inRun(run: OpenRun, event: DurableEvent): void {
    switch (event.type) {
      case 'turn_started':
        return beginCall(run, event);
      case 'attempt_failed':
        return attemptFailed(run, event);
      case 'message_added': {
        const { message } = event;
        if (message.role === 'assistant' && event.fromBranch === undefined) reply(run, message, event.inView, event.at);
        else if (recorder.content && event.inView)
          run.said.push(...[inputMessage(message)].filter((one) => one !== null));
        return;
      }
      case 'tool_started':
        return beginTool(run, event);
      case 'tool_ended':
        return finishTool(run, event);
      case 'tool_call_rejected':
        return rejectTool(run, event);
      case 'tool_paused':
        return endTool(run, event.callId, { tool: 'paused' }, event.at);
      case 'turn_ended':
        return endChat(run, {}, event.at);
      case 'run_paused':
        return pause(run, event);
      case 'run_ended':
        return runOver(run, event);
      default:
        return note(run, event);
    }
  }

  /** What is worth a line on the run's span. */
  function note(run: OpenRun, event: DurableEvent): void {
    const facts = notable(event);
    if (facts) recorder.event(run.open, `treadle.${event.type}`, facts, event.at);
  }

  /** Ends whatever is open, for this reason. */
  function close(reason: string): void {
    for (const run of [...runs.values()]) {
      before.set(run.runId, { open: run.open, waiting: run.waiting });
      endRun(run, { errorType: reason }, lastAt, reason);
    }
  }

  return {
    take(event: DurableEvent): void {
      // Another process has taken over: what this one saw begin ended when it last said something.
      if (event.type === 'drive_started') close('interrupted');
      lastAt = Math.max(lastAt, event.at);
      if (event.type === 'task_updated') return task(event);
      if (!('runId' in event) || event.runId === undefined) return;
      const { runId } = event;
      const run = runs.get(runId) ?? (OPENS.has(event.type) ? openRun({ ...event, runId }) : undefined);
      if (run) inRun(run, event);
    },
    close,
  };
}

function notable(event: DurableEvent): Facts | null {
  switch (event.type) {
    case 'approval_requested':
      return { callId: event.callId, toolName: event.toolName };
    case 'approval_answered':
      return { reason: event.decision };
    case 'compacted':
      return { tokensBefore: event.tokensBefore, tokensAfter: event.tokensAfter, reason: event.trigger };
    case 'branches_started':
      return { branches: event.branches.map(({ sessionId }) => sessionId) };
    case 'branches_ended':
      return { selectedBranch: event.selectedSessionId };
    default:
      return null;
  }
}
