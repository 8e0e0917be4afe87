// @module-tag slow

import type { DurableEvent } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { jsonLines, runCli, startCli, temporaryFolder, type CliOptions } from '../../test-support/harness.ts';

/** A terminal that types when it is told to. */
function keyboard() {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const after: CliOptions['after'] = (ms, fn) => {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  };
  return {
    options: { stdin, isTTY: 'both', after } satisfies CliOptions,
    type: (line: string) => stdin.write(`${line}\n`),
    end: () => stdin.end(),
  };
}

async function world() {
  const folder = await temporaryFolder();
  const options = {
    cwd: folder.path,
    env: {
      HOME: folder.path,
      TREADLE_HOME: join(folder.path, 'kept'),
      NO_COLOR: '1',
      USER: 'anna',
      TREADLE_MODEL: 'scripted',
    },
  };
  const events = async (id: string): Promise<DurableEvent[]> =>
    jsonLines((await runCli(['sessions', 'export', id], options)).stdout);
  const latest = async (): Promise<string> =>
    (
      JSON.parse((await runCli(['sessions', 'list', '--json'], options)).stdout) as {
        sessions: { sessionId: string }[];
      }
    ).sessions[0]?.sessionId ?? '';
  return { folder, options, events, latest, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const CALLS = 100;
const BY_READER = 'Allowed by anna at another terminal';

describe('two terminals at one session', () => {
  it('answer the same question a hundred times, in both orders: one effect each, and both are told who answered', async () => {
    await using w = await world();
    const turns = Array.from({ length: CALLS }, (_, index) => ({
      toolCalls: [{ name: 'bash', arguments: { command: `echo ran >> effect-${index}` } }],
    }));
    const first = keyboard();
    const run = startCli(['Go.', '--max-turns', '200', '--max-time', '3600'], {
      ...w.options,
      ...first.options,
      model: scriptedModel([...turns, 'Done.']),
    });
    await run.shown('effect-0\n');
    const id = await w.latest();
    const second = keyboard();
    const reader = startCli(['attach', id], { ...w.options, ...second.options });
    let answered = 0;
    for (let index = 0; index < CALLS; index += 1) {
      // Each sees the question before anyone answers it.
      await Promise.all([run, reader].map((screen) => screen.shown(`command: echo ran >> effect-${index}\n`)));
      // For so long a terminal takes no answer to a new question: it may be for the one before.
      await new Promise<void>((resolve) => setTimeout(resolve, 350));
      if (index % 3 === 0) {
        first.type('y');
        second.type('1');
        continue;
      }
      second.type('1');
      answered += 1;
      await reader.shown('allowed by you\n', answered);
      // Where it is told first, its late answer must not be taken for one to the next question.
      if (index % 3 === 2) await run.shown(BY_READER, answered);
      first.type('y');
    }
    const { code, screen } = await run.outcome;
    await reader.shown('Done.');
    second.end();
    const other = await reader.outcome;
    expect({ code, other: other.code }).toEqual({ code: 0, other: 0 });

    const log = await w.events(id);
    const answers = log.flatMap((event) =>
      event.type === 'input_received' && event.input.type === 'approval_answer' ? [event.input] : [],
    );
    expect(answers).toHaveLength(CALLS);
    expect(log.filter(({ type }) => type === 'approval_answered')).toHaveLength(CALLS);
    expect(log.filter(({ type }) => type === 'tool_started')).toHaveLength(CALLS);
    for (let index = 0; index < CALLS; index += 1)
      expect(await readFile(join(w.folder.path, `effect-${index}`), 'utf8')).toBe('ran\n');

    const count = (text: string, words: RegExp): number => text.match(words)?.length ?? 0;
    const byReader = answers.filter(({ by }) => by !== undefined).length;
    const late = { first: count(screen, /came too late/g), second: count(other.screen, /answered already/g) };
    console.log(`answered first: ${CALLS - byReader} here, ${byReader} there; late posts: ${JSON.stringify(late)}`);
    expect(byReader).toBeGreaterThanOrEqual(66);
    expect(byReader).toBeLessThan(CALLS);
    expect(count(screen, /Allowed by anna at another terminal \(process \d+\)/g)).toBe(byReader);
    expect(count(other.screen, /allowed by you$/gm)).toBe(byReader);
    expect(count(other.screen, /allowed by treadle, process \d+ on /g)).toBe(CALLS - byReader);
  }, 240_000);
});
