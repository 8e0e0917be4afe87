import type { JsonValue } from '../../json.ts';
import type { TimedOutcome } from '../../timed-call.ts';
import { retrieve, update } from './ask.ts';
import type { Agent } from '../../agent/agent.ts';
import type { FinishedRun, MemoryMeans } from './memory.ts';
import type { UserContent } from '../../messages/content.ts';
import type { Message } from '../../messages/message.ts';
import { runResultFold } from '../../projections/run-result.ts';
import { finalText, textsOf } from '../../messages/final-text.ts';
import { runOf, type PerformContext } from '../../kernel/context.ts';
import type { Question } from '../../kernel/services/question.ts';

type MemoryQuestion<Type> = Extract<Question, { readonly type: Type }>;

/** Asks the memory what it knows about a prompt. Without an answer the run goes on without. */
export async function askMemory(
  context: PerformContext,
  question: MemoryQuestion<'memory'>,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { agent, state, clock } = context;
  const input = state.inbox.find(({ seq }) => seq === question.inputSeq)?.input;
  if (agent.memory === null || input?.type !== 'prompt') return { content: [] };
  const { metadata } = input;
  const scope = { sessionId: state.sessionId, runId: question.runId, agentId: agent.id };
  const query = input.messages.map(({ content }) => textOf(content)).join('\n');
  const asked = {
    ...scope,
    ...(metadata === undefined ? {} : { metadata }),
    query,
    messages: state.view,
    ...means(agent),
  };
  const outcome = await retrieve(agent.memory, asked, { clock, signal });
  if (outcome.ok) return { content: outcome.value as unknown as JsonValue };
  return { content: [], problem: failed(context, question.runId, signal, outcome, 'The run goes on without it.') };
}

/** Tells the memory of the run that is about to end well. */
export async function updateMemory(
  context: PerformContext,
  question: MemoryQuestion<'memory_update'>,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { agent, clock } = context;
  if (agent.memory === null) return { updated: false };
  const outcome = await update(agent.memory, await finishedRun(context), { clock, signal });
  if (outcome.ok) return { updated: true };
  return { updated: false, problem: failed(context, question.runId, signal, outcome, 'It has not taken this run in.') };
}

function failed(
  { emit, state }: PerformContext,
  runId: string,
  signal: AbortSignal,
  { problem }: Extract<TimedOutcome, { readonly ok: false }>,
  consequence: string,
): string {
  const message = `${problem}${/[.!?]$/.test(problem) ? '' : '.'} ${consequence}`;
  // Interrupted: nobody acts on the answer.
  if (!signal.aborted) emit({ type: 'warning', afterSeq: state.seq, runId, code: 'memory_failed', message });
  return problem;
}

/** The run as the log has it: what a compaction took out of the view is in it. */
async function finishedRun({ agent, state, log, clock }: PerformContext): Promise<Omit<FinishedRun, 'signal'>> {
  const { runId, startedSeq, last, metadata } = runOf(state);
  const fold = runResultFold(runId);
  for await (const event of log.read(startedSeq)) fold.take(event);
  const { messages, finalMessage } = fold.result();
  const terminal = last?.succeeded.find(({ toolName }) => agent.tools.get(toolName)?.endsRun === true);
  const closing = messages.find((message) => message.role === 'tool' && message.callId === terminal?.callId);
  return {
    sessionId: state.sessionId,
    runId,
    agentId: agent.id,
    ...(metadata === null ? {} : { metadata }),
    prompt: messages.flatMap(saidByUser).join('\n'),
    answer: closing?.role === 'tool' ? textOf(closing.content) : finalText(finalMessage),
    messages,
    view: state.view,
    ...means(agent),
    at: clock.now(),
  };
}

const means = ({ model, toolDefinitions }: Agent): MemoryMeans => ({ model, tools: toolDefinitions });

const saidByUser = (message: Message): string[] =>
  message.role === 'user' && message.origin !== 'limit' ? [textOf(message.content)] : [];

const textOf = (content: readonly UserContent[]): string => textsOf(content).join('\n');
