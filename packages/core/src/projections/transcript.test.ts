import { beforeAll, describe, expect, it } from 'vitest';

import type { TranscriptEntry, TranscriptOptions } from '../entries/projections.ts';
import type { DurableEvent } from '../index.ts';
import { logsOfAllKinds, playLog } from '../test-support/logs.ts';
import { transcript } from './transcript.ts';

let logs: ReadonlyMap<string, readonly DurableEvent[]>;
beforeAll(async () => {
  logs = await logsOfAllKinds();
});

const entriesOf = (name: string, options?: TranscriptOptions): readonly TranscriptEntry[] =>
  transcript(logs.get(name) ?? [], options).entries;

/** An entry in a few words. */
function brief(entry: TranscriptEntry): string {
  switch (entry.type) {
    case 'note':
      return `${entry.kind}: ${entry.text}`;
    case 'extension':
      return entry.kind;
    case 'tool':
      return `tool ${entry.toolName} ${entry.status}: ${entry.text}`;
    case 'user':
      return `${entry.origin}: ${entry.text}`;
    default:
      return `assistant${entry.isComplete ? '' : ' (cut off)'}: ${entry.text}`;
  }
}

describe('a transcript', () => {
  it('has what was said, and each call with its result, where the call is', () => {
    expect(entriesOf('tools').map(brief)).toEqual([
      'prompt: Look.',
      'assistant: Let me see.',
      'tool read ok: a line',
      expect.stringMatching(/^tool fail error: .*No such thing/),
      expect.stringMatching(/^tool nothing rejected: /),
      'tool read ok: a line',
      'assistant: Done.',
    ]);
    expect(entriesOf('tools')[2]).toMatchObject({
      arguments: { path: 'a.txt' },
      by: 'server',
      durationMs: expect.any(Number) as number,
    });
  });

  it('has each message of the conversation once, in every log', () => {
    for (const log of logs.values()) {
      const said = (type: 'user' | 'assistant'): string[] =>
        transcript(log, { runtimeMessages: 'mark', thinking: true }).entries.flatMap((entry) =>
          entry.type === type ? [entry.text] : [],
        );
      const added = (role: 'user' | 'assistant'): string[] =>
        log
          .flatMap((event) => {
            if (event.type === 'message_added') return [event.message];
            return event.type === 'input_received' && event.input.type === 'import' ? event.input.messages : [];
          })
          .flatMap((message) =>
            message.role === role
              ? [message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')]
              : [],
          );
      expect(said('user')).toEqual(added('user'));
      expect(said('assistant')).toEqual(added('assistant'));
    }
  });

  it('leaves reasoning out unless it is asked for', () => {
    const thoughts = (options?: TranscriptOptions): string[] =>
      entriesOf('tools', options).flatMap((entry) => (entry.type === 'assistant' ? [entry.thinking] : []));
    expect(thoughts()).toEqual(['', '']);
    expect(thoughts({ thinking: true })).toEqual(['', 'Hm.']);
  });

  it('leaves out what the runtime told the model, or marks it', () => {
    expect(entriesOf('checked').map(brief)).toEqual(['prompt: Hi', 'assistant: Wrong.', 'assistant: Right.']);
    const marked = entriesOf('checked', { runtimeMessages: 'mark' });
    expect(marked.map(brief)).toContain('check: Look again.');
    expect(marked.filter((entry) => entry.type === 'user' && entry.isRuntime)).toHaveLength(1);
  });

  it('names images without their data', () => {
    const [prompt] = entriesOf('images');
    expect(prompt).toMatchObject({
      text: 'What is it?',
      attachments: [{ kind: 'image', mediaType: 'image/png', name: null, bytes: 8, url: null }],
    });
    expect(JSON.stringify(transcript(logs.get('images') ?? []))).not.toContain('iVBOR');
  });

  it('says how a run ended that did not end well', () => {
    expect(entriesOf('limited').map(brief).at(-1)).toMatch(/^ended: The run ended as turn_limit: ./);
    expect(entriesOf('rejected by a hook').map(brief)).toEqual(['ended: The run ended as rejected: Closed.']);
    expect(entriesOf('failed').map(brief)).toEqual([
      'prompt: Hi',
      'assistant (cut off): Half',
      'ended: The run ended as model_error: Reset.',
    ]);
    expect(entriesOf('cancelled').map(brief).at(-1)).toBe('ended: The run ended as aborted: Enough.');
  });

  it('says what a run waits for, and that it has not ended', () => {
    expect(entriesOf('paused').map(brief).slice(-3)).toEqual([
      'tool pick open: ',
      'paused: Paused, until there is an answer for: pick.',
      'open: This run has not ended.',
    ]);
    expect(entriesOf('resumed').map(brief)).toContain('tool pick ok: the red one');
    expect(entriesOf('resumed').find((entry) => entry.type === 'tool' && entry.toolName === 'pick')).toMatchObject({
      by: 'client',
    });
    expect(entriesOf('denied').map(brief)).toContainEqual(expect.stringMatching(/^tool write rejected: .*Not today/));
  });

  it('says what became of the conversation', () => {
    expect(entriesOf('imported').map(brief)).toEqual([
      'prompt: Hi',
      'assistant: Hello.',
      'replaced: The conversation was cleared.',
      'replaced: The conversation was replaced by one of 2 messages.',
      'prompt: Hi',
      'assistant: Hello.',
      'prompt: Go on.',
      'assistant: Hello again.',
    ]);
    expect(entriesOf('compacted').map(brief)).toContainEqual(
      expect.stringMatching(/^compacted: What the model sees was made smaller: \d+ messages became \d+\.$/),
    );
    expect(entriesOf('forked').map(brief)).toEqual([
      'prompt: Hi',
      'assistant: Hello.',
      'forked: Forked from session s1.',
      'prompt: And now?',
      'assistant: In the fork.',
    ]);
  });

  it('says when a queued message was not delivered', () => {
    expect(entriesOf('rejected by a filter, in the middle').map(brief).slice(-2)).toEqual([
      'undelivered: Not delivered: No secrets.',
      'ended: The run ended as rejected: No secrets.',
    ]);
    expect(entriesOf('steered').map(brief)).toContain('steering: Shorter.');
  });

  it('has as the model’s words what it says by a stop tool', async () => {
    const log = await playLog({
      turns: [{ toolCalls: [{ name: 'task_completion', arguments: { result: 'All done.' } }] }],
      agent: { tools: [], stopTools: true },
      act: (session) => session.prompt('Do it.').result,
    });
    expect(transcript(log).entries.map(brief)).toEqual(['prompt: Do it.', 'assistant: All done.']);
  });

  it('has the calls a provider ran itself', async () => {
    const raw = { type: 'server_tool_use' };
    const log = await playLog({
      turns: [
        {
          content: [
            { type: 'provider_tool_call', callId: 'p1', name: 'web_search', arguments: { query: 'x' }, raw },
            { type: 'provider_tool_result', callId: 'p1', name: 'web_search', isError: false, raw },
            { type: 'text', text: 'Found.' },
          ],
        },
      ],
      act: (session) => session.prompt('Search.').result,
    });
    expect(transcript(log).entries.slice(1)).toMatchObject([
      { type: 'tool', toolName: 'web_search', by: 'provider', status: 'ok', arguments: { query: 'x' } },
      { type: 'assistant', text: 'Found.' },
    ]);
  });

  it('is of any part of a log', () => {
    for (const log of logs.values()) {
      for (let length = 0; length <= log.length; length += 1) {
        const part = log.slice(0, length);
        const { entries, sessionId } = transcript(part);
        expect(sessionId).toBe(
          length === 0
            ? ''
            : (part.findLast(({ type }) => type === 'session_created') as { sessionId?: string }).sessionId,
        );
        const open = entries.filter((entry) => entry.type === 'note' && entry.kind === 'open');
        const started = part.filter(({ type }) => type === 'run_started').length;
        const ended = part.filter((event) => event.type === 'run_ended' && event.inputSeq === undefined).length;
        expect(open).toHaveLength(started - ended);
      }
    }
  });
});
