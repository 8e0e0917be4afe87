import { TreadleError } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { readRelayPrompt, readRelayResults } from './inputs.ts';

function problemOf(read: () => unknown): unknown {
  try {
    read();
    return undefined;
  } catch (error) {
    return error instanceof TreadleError && error.code === 'invalid_messages' ? error.details['path'] : error;
  }
}

describe('a request of a browser-tool relay', () => {
  it('is a prompt, or the results of tools', () => {
    expect(readRelayPrompt({ user_prompt: 'Hi.' })).toEqual({ prompt: [{ type: 'text', text: 'Hi.' }] });
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
    expect(readRelayPrompt({ agent_uuid: 's1', agent_type: 'shop', user_prompt: [image] })).toEqual({
      sessionId: 's1',
      agentType: 'shop',
      prompt: [{ type: 'image', mediaType: 'image/png', data: 'aGk=' }],
    });
    const results = [
      { tool_use_id: 'c1', content: 'ok' },
      { tool_use_id: 'c2', content: [{ type: 'text', text: 'no' }], is_error: true },
    ];
    expect(readRelayResults({ agent_uuid: 's1', tool_results: results })).toEqual({
      sessionId: 's1',
      results: [
        { callId: 'c1', content: 'ok' },
        { callId: 'c2', content: [{ type: 'text', text: 'no' }], isError: true },
      ],
    });
  });

  it.each([
    [() => readRelayPrompt({ user_prompt: '' }), 'user_prompt'],
    [() => readRelayPrompt({ user_prompt: [{ type: 'video' }] }), 'user_prompt[0].type'],
    [() => readRelayResults({ tool_results: [] }), 'agent_uuid'],
    [() => readRelayResults({ agent_uuid: 's', tool_results: [{ content: 'x' }] }), 'tool_results[0].tool_use_id'],
  ])('that can’t be read names the place: %#', (read, path) => {
    expect(problemOf(read)).toBe(path);
  });
});
