import { textsOf } from '../../messages/final-text.ts';
import type { Agent } from '../../agent/agent.ts';
import { errorText } from '../../errors.ts';
import type { SessionInput, TitleOrigin } from '../../events/events.ts';
import { costOf, priceOf } from '../../model/price.ts';
import type { AssistantMessage, UserMessage } from '../../messages/message.ts';
import { fallbackTitle } from '../../projections/title.ts';
import type { SessionParts } from '../runs.ts';
import { askTitle, titlePrice, titleRequest, type AskedTitle, type Opening } from '../../features/titles/ask.ts';
import type { TitleSettings } from '../../features/titles/options.ts';
import type { Titler } from '../../features/titles/titler.ts';

/** Under this key a session is named by itself once, whichever process does it. */
const KEY = 'title';

/** What a session is called that says nothing. */
const UNTITLED = 'Untitled';

/** The titler of a session. Sub-agents' sessions are not for lists, and are not named. */
export function createTitler(parts: SessionParts, takeNews: () => Promise<void>): Titler {
  let stopping: AbortController | null = null;
  let isStopped = false;
  let isAsking = false;
  let working: Promise<void> | null = null;

  async function work(agent: Agent, settings: TitleSettings): Promise<void> {
    isAsking = true;
    try {
      const problem = await giveTitle(parts, agent, settings, (stopping = new AbortController()).signal);
      if (!parts.active) await takeNews();
      if (problem !== undefined) warn(parts, `The session's title is made of its prompt: ${problem}`);
    } catch (error) {
      // The journal can't take it, or can't be read: the next process to complete a run tries again.
      warn(parts, `The session could not be given a title: ${errorText(error)}`);
    }
    isAsking = false;
    await parts.hold.settle();
  }

  const isNext = ({ agent, state }: SessionParts): boolean =>
    agent.title !== null &&
    working === null &&
    !isStopped &&
    state.title === null &&
    state.spawnedBy === null &&
    state.run === null &&
    state.completed;

  return {
    get isOwed() {
      return isAsking || isNext(parts);
    },
    ask() {
      const { agent } = parts;
      if (agent.title !== null && isNext(parts)) working = work(agent, agent.title);
    },
    settled: () => working ?? Promise.resolve(),
    async stop() {
      isStopped = true;
      stopping?.abort();
      await working;
    },
  };
}

function warn({ hub, state }: SessionParts, message: string): void {
  hub.emit({ type: 'warning', afterSeq: state.seq, code: 'title_failed', message });
}

/** Resolves with why it is no model's title, if it isn't. */
async function giveTitle(
  parts: SessionParts,
  agent: Agent,
  settings: TitleSettings,
  signal: AbortSignal,
): Promise<string | undefined> {
  const opening = await openingOf(parts);
  const { input, settle } = await named(parts, agent, settings, opening, signal);
  await parts.post(input, KEY);
  // The log first: whoever dies here leaves the money set aside, and the title is not paid for twice.
  await settle();
  return input.problem;
}

/** What was said first. Only what reached the history: what a filter has refused is no model's business. */
async function openingOf({ journal, state }: SessionParts): Promise<Opening> {
  const answer = state.view.findLast((message) => message.role === 'assistant');
  const answered = answer ? textOf(answer) : '';
  for await (const event of journal.read(state.sessionId, 1)) {
    if (event.type !== 'message_added') continue;
    const { message } = event;
    const asked = message.role === 'user' && message.origin === 'prompt' ? textOf(message).trim() : '';
    if (asked !== '') return { asked, answered };
  }
  return { asked: '', answered };
}

const textOf = ({ content }: UserMessage | AssistantMessage): string => textsOf(content).join(' ');

interface Named {
  readonly input: Extract<SessionInput, { readonly type: 'rename' }>;
  /** Tells the ledger what it came to. */
  settle(): Promise<void>;
}

async function named(
  parts: SessionParts,
  agent: Agent,
  settings: TitleSettings,
  opening: Opening,
  signal: AbortSignal,
): Promise<Named> {
  const { clock, random, state, hub } = parts;
  const { budget, retry } = agent;
  const { model } = settings;
  const request = titleRequest(opening, clock.now(), state.sessionId);
  const money = await payFor(parts, agent, titlePrice(settings, budget, request));
  if ('problem' in money) return { input: madeOf(opening, { problem: money.problem }), settle: async () => {} };
  const asked = await askTitle(settings, request, { clock, random, retry, signal });
  const { usage } = asked;
  const cost = usage === null ? 0 : (costOf(model, budget.unknownPrice, usage) ?? money.reserved);
  const spent = usage === null ? {} : { usage, cost: priceOf(model, usage) };
  const { provider, id } = model;
  return {
    input: inputOf(asked, opening, { provider, model: id, ...spent }),
    async settle() {
      try {
        await money.settle(cost);
      } catch (error) {
        const message = `The ledger could not be told what a title cost, and keeps its money aside: ${errorText(error)}`;
        hub.emit({ type: 'warning', afterSeq: state.seq, code: 'ledger_failed', message });
      }
    },
  };
}

function inputOf({ title, problem }: AskedTitle, opening: Opening, origin: TitleOrigin): Named['input'] {
  const line = title === null ? '' : fallbackTitle(title);
  if (line !== '') return { type: 'rename', title: line, by: 'model', ...origin };
  return madeOf(opening, { ...origin, problem: problem ?? 'The model replied without a title.' });
}

/** A title of the prompt; where that has no text, of the answer. */
function madeOf({ asked, answered }: Opening, origin: TitleOrigin): Named['input'] {
  const title = fallbackTitle(asked) || fallbackTitle(answered) || UNTITLED;
  return { type: 'rename', title, by: 'fallback', ...origin };
}

interface Money {
  readonly reserved: number;
  settle(cost: number): Promise<void>;
}

/** Sets aside the most that asking can cost, where there is a ledger; or says why nobody is to be asked. */
async function payFor(
  { state }: SessionParts,
  { budget: { ledger }, title }: Agent,
  most: number | null,
): Promise<Money | { readonly problem: string }> {
  if (ledger === null) return { reserved: 0, settle: async () => {} };
  if (most === null) {
    return { problem: `The price of ${title?.model.provider}/${title?.model.id} is unknown, and money is limited.` };
  }
  const id = `${state.sessionId}/title`;
  try {
    const outcome = await ledger.reserve(id, most);
    if (!outcome.granted) return { problem: `A title could cost $${most.toFixed(4)}, and there is less left.` };
    return { reserved: outcome.amount, settle: (cost) => ledger.settle(id, cost) };
  } catch (error) {
    return { problem: `The ledger failed: ${errorText(error)}` };
  }
}
