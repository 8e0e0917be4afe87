import type { JsonObject, StopReason, Usage } from '@treadle/core';

/** Token counts of a model's reply. The protocol has no word for "unknown": that is 0 there. */
export function messageUsage(usage: Usage): JsonObject {
  const { cacheWrite, cacheWrite1h = 0 } = usage;
  return {
    ...counts(usage),
    cache_creation: {
      ephemeral_5m_input_tokens: Math.max(0, (cacheWrite ?? 0) - cacheWrite1h),
      ephemeral_1h_input_tokens: cacheWrite1h,
    },
    server_tool_use: null,
    service_tier: null,
    fallback_credit: null,
    inference_geo: null,
    iterations: null,
    output_tokens_details: null,
    speed: null,
  };
}

/** The same for a whole turn, where nothing may be null. */
export const resultUsage = (usage: Usage): JsonObject => ({
  ...messageUsage(usage),
  server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
  service_tier: 'standard',
  inference_geo: '',
  iterations: [],
  output_tokens_details: { thinking_tokens: usage.reasoning ?? 0 },
  speed: 'standard',
});

/** The counts alone, as the end of a streamed message has them. */
export const counts = ({ input, output, cacheRead, cacheWrite }: Usage) => ({
  input_tokens: input ?? 0,
  output_tokens: output ?? 0,
  cache_creation_input_tokens: cacheWrite ?? 0,
  cache_read_input_tokens: cacheRead ?? 0,
});

const STOPS: Readonly<Record<StopReason, string | null>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_use: 'tool_use',
  pause: 'pause_turn',
  refusal: 'refusal',
  content_filter: 'refusal',
  error: null,
  aborted: null,
  other: 'end_turn',
};

export const stopReasonOf = (reason: StopReason | null): string | null => (reason === null ? null : STOPS[reason]);
