import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CATALOGUE, retiring, type Retirement } from '@treadle/models/catalogue';
import { DEFAULT_MODELS } from '../../packages/treadle/src/cli/run/choose-model.ts';

const ROOT = join(import.meta.dirname, '../..');

/** What people copy from. */
const EXAMPLES = ['README.md', 'docs/*.md', 'packages/*/README.md', 'examples/**/*.ts', 'packages/*/src/**/*.ts'];

const PROVIDERS = [...new Set(CATALOGUE.map(({ provider }) => provider))].join('|');
const FULL_NAME = new RegExp(String.raw`(?<![\w./-])(?:${PROVIDERS})/[\w.:/-]*\w`, 'g');
const CALL = /\b(anthropic|openai|google|bedrock|vertex|azure|openaiResponsesModel)\('([\w.:-]+)'/g;
/** Pages and code that speak of old models on purpose say so. */
const OLD_ON_PURPOSE = 'retired model';

/** The models that a text names: `provider/model`, and calls such as `anthropic('model')`. */
export function modelsIn(text: string): ReadonlySet<string> {
  const lines = text.split('\n').filter((line) => !line.includes(OLD_ON_PURPOSE));
  const found = lines.flatMap((line) => [
    ...[...line.matchAll(FULL_NAME)].map(([name]) => name),
    ...[...line.matchAll(CALL)].map(
      ([, maker = '', id = '']) => `${maker === 'openaiResponsesModel' ? 'openai' : maker}/${id}`,
    ),
  ]);
  return new Set(found);
}

/** A place that names a model which is about to be shut down. */
export interface Found extends Retirement {
  readonly file: string;
}

/** Default models and documented examples that are shut down within so many days of a date. */
export function retiringExamples(date: string, days = 60): readonly Found[] {
  const found = retiring(DEFAULT_MODELS, date, days).map((model) => ({
    ...model,
    file: 'a default of the command line',
  }));
  for (const file of globSync(EXAMPLES, { cwd: ROOT }).toSorted()) {
    const path = file.replaceAll('\\', '/');
    if (path.includes('.test.ts') || path.includes('/test-support/') || path.includes('/catalogue/')) continue;
    const names = modelsIn(readFileSync(join(ROOT, file), 'utf8'));
    for (const model of retiring(names, date, days)) found.push({ ...model, file: path });
  }
  return found;
}
