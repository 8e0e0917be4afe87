import { expect, it } from 'vitest';

import { createEditor } from '../input/pi-editor.ts';
import { themeNamed } from '../screen/theme.ts';
import { createView } from '../view/view.ts';
import { createInputLine } from './input-line.ts';
import { liveRows } from './live.ts';

const source = { commands: () => [], files: () => null };

it('shows an item of a list right below those before it while it is streamed', () => {
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
  const shown = (): readonly string[] => liveRows(view.state, local, 20, options).rows;
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
