import type { DecoderSink } from '../shared/protocol.ts';

type SinkEvent = Parameters<DecoderSink['event']>[0];

/**
 * A sink that shows the arguments of the tool `toolName` as the text of the reply. Prose before it is no part of the
 * reply; it is shown only when the reply doesn't come.
 */
export function jsonReplySink(sink: DecoderSink, toolName: string): DecoderSink {
  let held: SinkEvent[] = [];
  let replies = new Set<number>();
  let otherCalls = false;

  const showHeld = (): void => {
    for (const event of held) sink.event(event);
    held = [];
  };

  const begin = (): void => {
    held = [];
    replies = new Set();
    otherCalls = false;
  };

  const isReply = (event: SinkEvent): event is Extract<SinkEvent, { readonly index: number }> =>
    'index' in event && replies.has(event.index);

  const passReply = (event: SinkEvent): void => {
    if (event.type === 'tool_arguments_delta') sink.event({ ...event, type: 'text_delta' });
    else if (event.type === 'block_end' && event.block.type === 'tool_call') {
      sink.event({ ...event, block: { type: 'text', text: event.block.argumentsText } });
    }
  };

  const pass = (event: SinkEvent): void => {
    if (event.type === 'start') begin();
    else if (event.type === 'tool_call_start') {
      otherCalls = true;
      showHeld();
    } else if (event.type === 'text_delta' || (event.type === 'block_end' && event.block.type === 'text')) {
      if (replies.size === 0) held.push(event);
      return;
    } else if (event.type === 'finish') {
      showHeld();
      const done = replies.size > 0 && !otherCalls && event.stopReason === 'tool_use';
      return sink.event(done ? { ...event, stopReason: 'stop' } : event);
    }
    sink.event(event);
  };

  return {
    event(event) {
      if (event.type === 'tool_call_start' && event.name === toolName) {
        replies.add(event.index);
        held = [];
      } else if (isReply(event)) passReply(event);
      else pass(event);
    },
    error(error) {
      showHeld();
      sink.error(error);
    },
    malformed(message) {
      showHeld();
      sink.malformed(message);
    },
    unknown: (type) => sink.unknown(type),
  };
}
