import { resolveModel, type Model } from 'treadle';
import { demoModel } from 'treadle/demo';

/** The model of the first key that is set. The demo model needs none, and answers a few prompts. */
export function model(): Model {
  if (process.env.ANTHROPIC_API_KEY) return resolveModel('anthropic/claude-sonnet-5-5');
  if (process.env.OPENAI_API_KEY) return resolveModel('openai/gpt-6.1-sol');
  return demoModel();
}
