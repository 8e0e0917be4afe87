import { createSession, defineAgent, defineTool, openSession, type DurableEvent, type RunResult } from '@treadle/core';
import { scriptedModel, type CrashCourse, type CrashLife } from '@treadle/testing';
import { newStore, programOf, type StoreAt } from './stores.ts';

// A run that waits twice for a client. Each process leaves when it waits, and another one brings the answer.

const SESSION = 's1';

const agent = defineAgent({
  model: scriptedModel(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').length;
    if (results === 0) return { text: 'I look, and you pick.', toolCalls: ['look', 'pick', 'sign'].map(named) };
    return results === 3 ? { text: 'Once more.', toolCalls: [named('pick')] } : 'All is done.';
  }),
  tools: [
    defineTool({ name: 'look', description: 'Looks.', readOnly: true, execute: () => 'all is well' }),
    ...['pick', 'sign'].map((name) =>
      defineTool({
        name,
        description: 'Asks.',
        runs: 'client',
        inputSchema: { type: 'object', properties: {} } as const,
      }),
    ),
  ],
});

function named(name: string): { readonly name: string } {
  return { name };
}

/** What one process does: it goes on until the run waits or has ended, and answers first what is being waited for. */
export async function clientToolLife({ journal, clock, ids, pass }: CrashLife): Promise<void> {
  const options = { journal, clock, ids };
  const isNew = (await journal.list()).sessions.length === 0;
  const session = isNew
    ? await createSession(agent, { ...options, id: SESSION })
    : await openSession(agent, SESSION, options);
  if (session.status === 'idle') {
    if (session.messages.length === 0) await session.prompt('Go.').result;
    return;
  }
  const found: RunResult = await session.resume().result;
  if (found.status !== 'paused') return;
  await pass('before the client answers');
  await session.addToolOutputs(
    found.pending.map(({ callId, toolName }) => ({ callId, content: `the client's ${toolName}` })),
  ).result;
}

/** The history without what differs from course to course: ids by their order, and no times. */
function normalised(log: readonly DurableEvent[]): unknown[] {
  const ids = new Map<string, string>();
  const known = (id: string): string => {
    ids.set(id, ids.get(id) ?? `#${ids.size + 1}`);
    return ids.get(id) ?? '';
  };
  return log.flatMap((event): unknown[] => {
    if (event.type === 'message_added' && event.inView) {
      const { message } = event;
      if (message.role === 'extension') return [];
      const content = message.content.map((block) =>
        block.type === 'tool_call' ? { ...block, callId: known(block.callId), providerCallId: null } : block,
      );
      return [{ role: message.role, content }];
    }
    if (event.type === 'run_ended') return [{ end: event.status, turns: event.turns }];
    return [];
  });
}

/** Results by tool, in the order of the calls. */
function results(log: readonly DurableEvent[]): unknown[] {
  const calls = log.flatMap((event) =>
    event.type === 'message_added' && event.inView && event.message.role === 'assistant'
      ? event.message.content.flatMap((block) => (block.type === 'tool_call' ? [block.callId] : []))
      : [],
  );
  return calls.map((callId) =>
    log.flatMap((event) => (event.type === 'tool_ended' && event.callId === callId ? [event.content] : [])),
  );
}

/** The course of it on a store, in this process or in others that are killed. */
export function clientToolCourse(kind: StoreAt['kind'], place: string, inProcesses: boolean): CrashCourse {
  const store = newStore(kind, place);
  return {
    sessionId: SESSION,
    open: () => store.open(),
    live: clientToolLife,
    isOver: (log) => log.some(({ type }) => type === 'run_ended'),
    outcome: (log) => ({ history: normalised(log), results: results(log) }),
    dispose: () => store.dispose(),
    ...(inProcesses ? { process: programOf('./client-tool-process.ts', store.at) } : {}),
  };
}
