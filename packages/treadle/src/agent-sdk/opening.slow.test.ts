// @module-tag slow

import { memoryJournal, type Journal, type JsonObject } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { temporaryFolder } from '../test-support/harness.ts';
import { readArguments } from './arguments.ts';
import { clientServers } from './client/servers.ts';
import { createChannel } from './lines/channel.ts';
import { openAll } from './opening.ts';
import { applyFlagSettings } from './requests/flag-settings.ts';

/** A session that a client has opened, and what happens the next time that it is read. */
async function opened(users: JsonObject = {}) {
  const place = await temporaryFolder();
  await mkdir(join(place.path, '.claude'));
  await writeFile(join(place.path, '.claude/settings.json'), JSON.stringify(users));
  const loaded: string[] = [];
  const kept = memoryJournal();
  let meanwhile = async (): Promise<unknown> => null;
  const journal: Journal = {
    ...kept,
    async *read(...of) {
      const [now] = [meanwhile];
      meanwhile = async () => null;
      await now();
      yield* kept.read(...of);
    },
  };
  const stream = new Writable({ write: (_chunk, _encoding, written) => written() });
  const io = { stdin: Readable.from([]), stdout: stream, stderr: stream, onSignal: () => () => {}, exit: () => {} };
  const channel = createChannel(
    () => {},
    () => Promise.reject(new Error('Nobody asks.')),
  );
  const session = await openAll(
    {
      args: readArguments(['--setting-sources', 'user']),
      io: { ...io, env: { HOME: place.path }, cwd: place.path, now: () => 0, after: () => () => {} },
      parts: {
        async model(name) {
          loaded.push(name);
          return scriptedModel(['Hello.']);
        },
        journal: async () => journal,
      },
      ...{ channel, clients: clientServers(channel), emit: () => {}, note: () => {} },
    },
    {},
  );
  return {
    session,
    loaded,
    apply: (settings: JsonObject) => applyFlagSettings(settings, session),
    next: (happens: () => Promise<unknown>) => void (meanwhile = happens),
    async [Symbol.asyncDispose]() {
      await session.session.close();
      await session.pool.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

const DENY = { permissions: { deny: ['Read'] } };

describe('a session whose settings change', () => {
  it('takes a change that comes while it takes another one', async () => {
    await using w = await opened();
    await w.apply({ outputStyle: 'default' });
    w.next(() => w.apply(DENY));
    await w.session.refresh();
    expect(w.session.sdk.toolNames).toContain('Read');
    await w.session.refresh();
    expect(w.session.sdk.toolNames).not.toContain('Read');
  });

  it('keeps both of two changes that come at once', async () => {
    await using w = await opened();
    await Promise.all([w.apply(DENY), w.apply({ outputStyle: 'default' })]);
    expect(w.session.flags.settings).toEqual({ ...DENY, outputStyle: 'default' });
  });

  it('is opened by the next turn when it could not be opened', async () => {
    await using w = await opened();
    await w.apply(DENY);
    w.next(() => Promise.reject(new Error('The disk is gone.')));
    await expect(w.session.refresh()).rejects.toThrow('The disk is gone.');
    await w.session.refresh();
    expect(await w.session.session.prompt('Hi.').result).toMatchObject({ text: 'Hello.' });
  });
});

describe('what the client says', () => {
  const users = { model: 'claude-opus-5-5', permissions: { defaultMode: 'acceptEdits' } };

  it("goes before the user's own settings, until it is taken back", async () => {
    await using w = await opened(users);
    expect(w.session.told.mode).toBe('acceptEdits');
    await w.apply({ permissions: { defaultMode: 'plan' }, model: 'claude-haiku-5-5' });
    expect(w.session.told.mode).toBe('plan');
    await w.session.refresh();
    expect(w.session.sdk.agent.permissions.mode).toBe('plan');
    await w.apply({ permissions: null, model: null });
    expect(w.session.told.mode).toBe('acceptEdits');
    expect(w.loaded).toEqual(['opus', 'haiku', 'opus'].map((name) => `anthropic/claude-${name}-5-5`));
  });
});
