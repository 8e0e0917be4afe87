import { appendFileSync, readFileSync } from 'node:fs';
import {
  createSession,
  defineAgent,
  defineTool,
  openSession,
  type Agent,
  type Journal,
  type ReplayPolicy,
  type RunResult,
  type Tool,
} from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { fileJournal, sqliteJournal } from '../index.ts';

// One run of three parallel calls, for processes that are killed in it and processes that go on with it.

export const SESSION = 's1';

/** The journals that outlive a process without a server. */
export const journalAt = {
  SQLite: (folder: string): Journal => sqliteJournal({ path: `${folder}/journal.db` }),
  files: (folder: string): Journal => fileJournal({ folder: `${folder}/journal`, pollMs: 10 }),
} as const;

export type JournalName = keyof typeof journalAt;

/** What the tools did to the world, whatever process they ran in: the lines of a file. */
export const effectsIn = (folder: string): string[] => readFileSync(`${folder}/effects`, 'utf8').trim().split('\n');

/** Called with each moment's name. A process that is to be killed at one never comes back from it. */
export type Hold = (moment: string) => Promise<void>;

function actingTool(name: string, replay: ReplayPolicy, folder: string, hold: Hold): Tool {
  const note = (line: string): void => appendFileSync(`${folder}/effects`, `${line}\n`);
  return defineTool({
    name,
    description: `Acts, and may be repeated: ${replay}.`,
    replay,
    async execute(_, { idempotencyKey }) {
      await hold(`before ${name}`);
      note(`${name} begins ${idempotencyKey}`);
      await hold(`inside ${name}`);
      note(`${name} ends ${idempotencyKey}`);
      await hold(`after ${name}`);
      return `${name} done`;
    },
  });
}

const agentIn = (folder: string, hold: Hold): Agent =>
  defineAgent({
    model: scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'Done.'
        : { text: 'I act.', toolCalls: ['look', 'charge', 'deploy'].map((name) => ({ name })) },
    ),
    tools: [
      actingTool('look', 'safe', folder, hold),
      actingTool('charge', 'never', folder, hold),
      actingTool('deploy', 'ask', folder, hold),
    ],
    // One after the other, so that a death in one of them is in no other.
    toolExecution: { mode: 'sequential' },
  });

/** Says of each append when it is about to be made, and when it is durable and nobody has been told. */
function watched(journal: Journal, hold: Hold): Journal {
  return {
    ...journal,
    async append(sessionId, epoch, expectedSeq, events) {
      const name = events.map(({ type }) => type).join('+');
      await hold(`before ${name}`);
      const outcome = await journal.append(sessionId, epoch, expectedSeq, events);
      await hold(`after ${name}`);
      if (outcome.ok) for (const { seq, type } of outcome.events) await hold(`acknowledged ${seq} ${type}`);
      return outcome;
    },
  };
}

/** Creates the session, or goes on with it, to the end of its run; a question is answered with yes. */
export async function driveToTheEnd(folder: string, kind: JournalName, hold: Hold): Promise<RunResult> {
  const store = journalAt[kind](folder);
  try {
    const journal = watched(store, hold);
    const agent = agentIn(folder, hold);
    const { sessions } = await journal.list();
    const isNew = sessions.length === 0;
    const session = await (isNew
      ? createSession(agent, { id: SESSION, journal })
      : openSession(agent, SESSION, { journal }));
    let result = await (isNew ? session.prompt('Act.') : session.resume()).result;
    for (let [question] = result.pending; result.status === 'paused' && question; [question] = result.pending) {
      result = await session.approve(question.approvalId ?? '').result;
    }
    return result;
  } finally {
    await store.close();
  }
}
