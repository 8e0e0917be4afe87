import { CATALOGUE_DATE } from '@treadle/models/catalogue';
import { expect, it } from 'vitest';
import { modelsIn, retiringExamples } from './check.ts';

it('no default and no documented example names a model that is shut down within 60 days of the catalogue', () => {
  expect(retiringExamples(CATALOGUE_DATE)).toEqual([]);
});

it('finds models by their names and in calls, and fails for those that are shut down', () => {
  const text =
    "`openai/gpt-5` or anthropic('claude-sonnet-4-5', {}) or openai/gpt-4o for a retired model\nnpm/openai/gpt-4o";
  expect([...modelsIn(text)]).toEqual([]);
  expect([...modelsIn("Use `openai/gpt-5`, or\nanthropic('claude-sonnet-4-5', {})")]).toEqual([
    'openai/gpt-5',
    'anthropic/claude-sonnet-4-5',
  ]);
});
