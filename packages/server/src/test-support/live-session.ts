import { createSession, defineAgent, type Journal } from '@treadle/core';
import type { LiveFeed } from '@treadle/core/ports';
import type { LiveFeedUnderTest } from '@treadle/testing';
import { inProcess, type InProcess } from '../dispatch/in-process.ts';
import { steppedModel, type SteppedModel } from './stepped-model.ts';

/** A session of a journal that is driven by `driver`, and says what a test says. Each run has a model of its own. */
export async function liveSession(journal: Journal): Promise<{
  readonly driver: InProcess;
  under(feed: LiveFeed): LiveFeedUnderTest;
}> {
  let model: SteppedModel = steppedModel();
  const agent = defineAgent({
    id: 'agent',
    model: {
      provider: 'stepped',
      id: 'stepped',
      stream: (...asked: Parameters<SteppedModel['stream']>) => model.stream(...asked),
    },
  });
  const sessionId = `live-${Math.random().toString(36).slice(2)}`;
  await (await createSession(agent, { id: sessionId, journal })).close();
  const driver = inProcess({ journal, agentOf: () => agent });
  let runs = 0;
  return {
    driver,
    under: (feed) => ({
      feed,
      sessionId,
      async begin() {
        model = steppedModel();
        const input = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'Go on.' }] }] } as const;
        await journal.post(sessionId, input, `run-${(runs += 1)}`, Date.now());
        await driver.dispatch(sessionId);
        await model.asked;
      },
      say: (text) => model.say(text),
      restart: () => model.restart(),
      async finish() {
        const ended = Promise.withResolvers<void>();
        const stop = driver.subscribe(sessionId, (event) => event.type === 'run_ended' && ended.resolve());
        model.finish();
        await ended.promise;
        stop();
      },
      dispose: async () => void (await driver.drain(AbortSignal.timeout(1000))),
    }),
  };
}
