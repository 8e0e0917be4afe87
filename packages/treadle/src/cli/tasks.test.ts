import { scriptedModel, type Turn } from '@treadle/testing';

import { describe, expect, it } from 'vitest';

import { runCli, startCli, temporaryFolder } from '../test-support/harness.ts';

const bash = (command: string): Turn => ({
  toolCalls: [{ name: 'bash', arguments: { command, run_in_background: true } }],
});

async function world() {
  const home = await temporaryFolder();
  const options = { env: { TREADLE_HOME: home.path, PATH: process.env['PATH'] ?? '' }, cwd: home.path };
  const sessionId = async (): Promise<string> => {
    const { stdout } = await runCli(['sessions', 'list', '--json'], options);
    return (JSON.parse(stdout) as { sessions: { sessionId: string }[] }).sessions[0]?.sessionId ?? '';
  };
  const tasks = (...args: string[]) => runCli(['sessions', 'tasks', ...args], options);
  return { options, sessionId, tasks, [Symbol.asyncDispose]: home[Symbol.asyncDispose] };
}

const rows = (stdout: string): string[][] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));

describe('treadle run --background', () => {
  it('lets a command run beside the model, waits for it at the end, and the session lists it with its output', async () => {
    await using home = await world();
    const model = scriptedModel([bash('echo built'), 'It is being built.', 'It is built.']);
    const { code, stdout, stderr } = await runCli(['Build.', '--background', '--allow', 'bash'], {
      ...home.options,
      model,
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toContain('It is built.');
    expect(stderr).toMatch(/in the background has completed \(task_\w+\)/);
    const sessionId = await home.sessionId();
    const [task] = rows((await home.tasks(sessionId)).stdout);
    expect(task?.slice(1, 3)).toEqual(['completed', 'bash']);
    expect((await home.tasks(sessionId, task?.[0] ?? '')).stdout).toContain('built');
    const json = JSON.parse((await home.tasks(sessionId, '--json')).stdout) as { tasks: unknown[] };
    expect(json.tasks).toMatchObject([{ toolName: 'bash', status: 'completed' }]);
    expect((await home.tasks(sessionId, 'task_', '--stop')).stderr).toContain('has ended already: completed');
  });

  it('is not there unless it is asked for', async () => {
    await using home = await world();
    const model = scriptedModel(['Nothing to do.']);
    await runCli(['Build.'], { ...home.options, model });
    expect(model.requests[0]?.tools.map(({ name }) => name)).not.toContain('task_list');
    const { stderr, stdout } = await home.tasks(await home.sessionId());
    expect([stdout, stderr]).toEqual(['', 'treadle: Nothing of this session has run in the background.\n']);
  });

  it('has a task that another process stops: it is killed, and the model is told', async () => {
    await using home = await world();
    const model = scriptedModel([bash('sleep 600'), 'It is being built.', 'Somebody stopped it.']);
    const begun = Promise.withResolvers<void>();
    const watched = {
      ...model,
      stream(...args: Parameters<typeof model.stream>) {
        if (model.requests.length === 1) begun.resolve();
        return model.stream(...args);
      },
    };
    const run = startCli(['Build.', '--background', '--allow', 'bash'], { ...home.options, model: watched });
    await begun.promise;
    const sessionId = await home.sessionId();
    // The task is in the log before the model's second call begins.
    const [task] = rows((await home.tasks(sessionId)).stdout);
    expect(task?.[2]).toBe('bash');
    expect((await home.tasks(sessionId, task?.[0] ?? '')).stderr).toContain('is with the process that runs it');
    expect((await home.tasks(sessionId, task?.[0] ?? '', '--stop')).stderr).toContain('is told to stop');
    const { code, stdout } = await run.outcome;
    expect([code, stdout]).toEqual([0, expect.stringContaining('Somebody stopped it.')]);
    expect(rows((await home.tasks(sessionId)).stdout)[0]?.slice(1)).toEqual([
      'killed',
      'bash',
      expect.any(String) as string,
      'It was stopped from the command line.',
    ]);
  });

  it.each([
    [['sessions', 'tasks'], 'needs the id of a session'],
    [['sessions', 'tasks', 'ID', '--stop'], 'Name it'],
  ])('refuses %j', async (argv, problem) => {
    const { code, stderr } = await runCli(argv);
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  });

  it('says which tasks there are when one is named that is not there', async () => {
    await using home = await world();
    await runCli(['Build.', '--background', '--allow', 'bash'], {
      ...home.options,
      model: scriptedModel([bash('true'), 'Wait.', 'Done.']),
    });
    const { code, stderr } = await home.tasks(await home.sessionId(), 'task_nine');
    expect([code, stderr]).toEqual([2, expect.stringMatching(/No background task task_nine .* There are: task_/)]);
  });
});
