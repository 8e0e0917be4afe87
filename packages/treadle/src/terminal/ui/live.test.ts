import { describe, expect, it } from 'vitest';

import { createEditor } from '../input/pi-editor.ts';
import { themeNamed } from '../screen/theme.ts';
import { createView } from '../view/view.ts';
import { createInputLine } from './input-line.ts';
import { changesByItself, liveRows, type LocalState } from './live.ts';

const source = { commands: () => [], files: () => null };

/** A view, and the rows below it after so much silence. */
function world() {
  const view = createView({ label: (name) => name, self: null });
  const input = createInputLine(createEditor(), { source, history: [], changed: () => {} });
  const local = {
    panel: null,
    input,
    hint: null,
    now: 0,
    beat: 0,
    model: 'm',
    folder: '~',
    mode: 'default',
    isHere: true,
    isCutOff: false,
    silentMs: 0,
    onSilence: undefined,
    early: [],
    shell: null,
  };
  const options = { columns: 60, theme: themeNamed('none'), label: (name: string) => name };
  const shown = (changes: Partial<LocalState> = {}): readonly string[] =>
    liveRows(view.state, { ...local, ...changes }, 20, options).rows;
  const changes = (given: Partial<LocalState>): boolean => changesByItself(view.state, { ...local, ...given });
  const take = (...events: readonly object[]): void => {
    for (const [index, event] of events.entries()) view.take({ at: 0, seq: index + 1, ...event } as never);
  };
  return { view, shown, changes, take };
}

const PROMPT = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'Hi' }] }] };
const SENT = { type: 'input_received', input: PROMPT };
const STARTED = { type: 'run_started', config: { provider: 'p', model: 'm' } };
const onSilence = 'Drive it.';
const warning = /^Nothing was heard for a while\. Drive it\.$/m;

describe('a session that says nothing', () => {
  it('shows a prompt that nobody takes, and says soon that nobody may be there', () => {
    const { shown, changes, take } = world();
    take(SENT);
    expect(shown({ now: 100 }).join('\n')).not.toContain('→ sent');
    expect(shown({ now: 1000 })).toContain('→ sent: Hi');
    expect(shown({ now: 1000, silentMs: 1000, onSilence }).join('\n')).not.toMatch(warning);
    expect(shown({ now: 4000, silentMs: 4000, onSilence }).join('\n')).toMatch(warning);
    expect(shown({ now: 4000, silentMs: 4000 }).join('\n')).not.toContain('Nothing was heard');
    expect(changes({ now: 1000, silentMs: 1000, onSilence })).toBe(true);
    expect(changes({ now: 4000, silentMs: 4000, onSilence })).toBe(false);
    expect(changes({ now: 4000 })).toBe(false);
  });

  it('says so below the working row, later than a model thinks, and later still while a tool runs', () => {
    const { shown, take } = world();
    take(SENT, STARTED, { type: 'message_added', inputSeq: 1, message: { role: 'user', content: [] } });
    expect(shown({ silentMs: 19_000, onSilence }).join('\n')).not.toMatch(warning);
    expect(shown({ silentMs: 21_000, onSilence }).join('\n')).toMatch(
      /working · 0 s · Esc interrupts\nNothing was heard/,
    );
    take(SENT, STARTED, { type: 'tool_started', callId: 'c', toolName: 'bash', arguments: {} });
    expect(shown({ silentMs: 100_000, onSilence }).join('\n')).not.toMatch(warning);
    expect(shown({ silentMs: 121_000, onSilence }).join('\n')).toMatch(warning);
  });

  it('counts no time while a run that broke off waits for a word', () => {
    const { shown, changes, take } = world();
    take(STARTED);
    expect(shown().join('\n')).toContain('working');
    expect(shown({ isCutOff: true }).join('\n')).not.toContain('working');
    expect(changes({ isCutOff: true })).toBe(false);
  });
});

it('shows an item of a list right below those before it while it is streamed', () => {
  const { view, shown } = world();
  const place = { afterSeq: 1, runId: 'r', turnIndex: 0, messageId: 'a', attempt: 1, restart: 0 };
  const say = (offset: number, text: string): void =>
    view.take({ type: 'message_delta', ...place, index: 0, kind: 'text', offset, text } as never);
  say(0, 'A list');
  expect(view.finished()).toHaveLength(0);
  expect(shown().slice(0, 2)).toEqual(['', 'A list']);
  say(6, ':\n\n- one\n- two\n- thr');
  expect(view.finished()).toHaveLength(3);
  expect(shown()[0]).toBe('• thr');
});
