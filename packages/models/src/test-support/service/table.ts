import { CELLS, failures, type StagedModel } from './cells.ts';

const NAMES = Object.keys(CELLS);

/** Plays every task with every model, and prints a row for each model. Returns what failed, in words. */
export async function playTable(models: readonly StagedModel[], print: (line: string) => void): Promise<string[]> {
  const width = Math.max(...models.map(({ name }) => name.length));
  print(['model'.padEnd(width), ...NAMES].join('  '));
  const problems: string[] = [];
  for (const model of models) {
    const found = await failures(model, NAMES);
    const cells = NAMES.map((name) => (found[name] === undefined ? 'ok' : 'FAIL').padEnd(name.length));
    print([model.name.padEnd(width), ...cells].join('  '));
    for (const [name, wrong] of Object.entries(found)) problems.push(`${model.name}, ${name}: ${wrong}`);
  }
  print(`${models.length} models, ${models.length * NAMES.length} cells, ${problems.length} failed`);
  for (const text of problems) print(text);
  return problems;
}
