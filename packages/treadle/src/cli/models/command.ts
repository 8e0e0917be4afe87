import {
  CATALOGUE,
  CATALOGUE_DATE,
  lookUp,
  retiring,
  writeCatalogue,
  type CatalogueFile,
  type CatalogueRow,
} from '@treadle/models/catalogue';

import { keepCatalogue, ownCatalogue } from '../../settings/catalogue.ts';
import { openTerminal, readLines } from '../asking/terminal.ts';
import { MODELS_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { infoText } from '../help.ts';
import { printed } from '../io.ts';
import { parseOptions } from '../options.ts';
import { DEFAULT_MODELS } from '../run/choose-model.ts';
import { UsageError } from '../usage-error.ts';
import { fetchCatalogue, priceJumps } from './update.ts';

/** Where the newest catalogue is: the file of the package that was published last. */
const ADDRESS = 'https://cdn.jsdelivr.net/npm/@treadle/models@latest/catalogue.json';

/** Days before its end from which on a model is marked. */
const SOON = 60;

/** `treadle models`. Returns the exit code. */
export async function modelsCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const options = parseOptions(args, MODELS_OPTIONS);
  const { out, io } = context;
  const info = infoText('models', options);
  if (info !== null) return printed(out, info);
  const [word, ...rest] = options.positionals;
  if (word === 'update') return update(context, rest[0] ?? ADDRESS, options.flag('yes'));
  if (rest.length > 0) throw new UsageError(`'${rest.join(' ')}' is too much: name one model, or a part of its name.`);
  const catalogue = (await ownCatalogue(io)) ?? { date: CATALOGUE_DATE, rows: CATALOGUE };
  const exact = word === undefined ? undefined : rowNamed(catalogue, word);
  const found = exact ? [exact] : catalogue.rows.filter((row) => nameOf(row).includes(word ?? ''));
  if (found.length === 0)
    throw new UsageError(`No model is called '${word}'. treadle models lists those that are known.`);
  if (options.flag('json')) return printed(out, writeCatalogue({ ...catalogue, rows: found }));
  const today = new Date(io.now()).toISOString().slice(0, 10);
  return printed(
    out,
    exact ? details(exact) : `${table(found, today)}\n${found.length} models, as of ${catalogue.date}\n`,
  );
}

const nameOf = ({ provider, id }: CatalogueRow): string => `${provider}/${id}`;

function rowNamed({ rows }: CatalogueFile, name: string): CatalogueRow | undefined {
  const slash = name.indexOf('/');
  return slash === -1 ? undefined : lookUp(name.slice(0, slash), name.slice(slash + 1), rows);
}

const size = (tokens: number | undefined): string => (tokens === undefined ? '?' : tokens.toLocaleString('en-US'));
const dollars = (price: number | undefined): string => (price === undefined ? '?' : `$${price}`);

function table(rows: readonly CatalogueRow[], today: string): string {
  const ends = new Set(retiring(rows.map(nameOf), today, SOON).map(({ name }) => name));
  const width = Math.max(...rows.map((row) => nameOf(row).length));
  const lines = rows.map((row) => {
    const price = row.prices?.[0];
    const cost = price ? `${dollars(price.input)} in, ${dollars(price.output)} out` : 'price unknown';
    const end = ends.has(nameOf(row)) ? `  shut down on ${row.retires}` : '';
    return `${nameOf(row).padEnd(width)}  ${size(row.contextWindow).padStart(9)}  ${cost}${end}`;
  });
  return lines.join('\n');
}

function details(row: CatalogueRow): string {
  const facts: (readonly [string, string])[] = [
    ['window', `${size(row.contextWindow)} tokens`],
    ...(row.maxInput === undefined ? [] : [['input', `at most ${size(row.maxInput)} tokens`] as const]),
    ['reply', `at most ${size(row.outputLimit)} tokens`],
    ['takes', row.inputModalities?.join(', ') ?? '?'],
    ['thinks', row.thinking === undefined ? '?' : row.thinking ? 'yes' : 'no'],
    ...(row.retires === undefined ? [] : [['shut down', row.retires] as const]),
  ];
  for (const price of row.prices ?? []) {
    const when = [
      price.from && `from ${price.from}`,
      price.until && `until ${price.until}`,
      price.weekdayHours && 'at peak hours',
    ];
    const words = when.filter(Boolean).join(' ');
    const cached = `cache read ${dollars(price.cacheRead)}, write ${dollars(price.cacheWrite)}`;
    const hour = price.cacheWrite1h === undefined ? '' : `, for an hour ${dollars(price.cacheWrite1h)}`;
    facts.push([`price ${words}`.trim(), `in ${dollars(price.input)}, out ${dollars(price.output)}, ${cached}${hour}`]);
    for (const tier of price.tiers ?? [])
      facts.push(['', `above ${size(tier.above)} tokens: in ${dollars(tier.input)}, out ${dollars(tier.output)}`]);
    facts.push(['', `read on ${price.read}: ${price.source}`]);
  }
  const lines = facts.map(([name, fact]) => `  ${name.padEnd(10)}  ${fact}`);
  return [nameOf(row), ...lines, '  Prices are US dollars per million tokens.', ''].join('\n');
}

/** Fetches a newer catalogue. Nothing else changes: which model is the default stays with this version of the program. */
async function update({ io, out, interruptions }: CommandContext, address: string, yes: boolean): Promise<number> {
  const before = (await ownCatalogue(io)) ?? { date: CATALOGUE_DATE, rows: CATALOGUE };
  const after = await interruptions.unless(fetchCatalogue(address, io));
  if (after.date <= before.date) return printed(out, `Nothing new: the catalogue of ${before.date} is the newest.\n`);
  const jumps = priceJumps(before.rows, after.rows);
  if (jumps.length > 0 && !yes) {
    out.print(`These prices change more than fivefold:\n${jumps.map((jump) => `  ${jump}\n`).join('')}`);
    const terminal = openTerminal(io, out, readLines(io.stdin));
    if (!terminal.isThere) throw new UsageError('Nothing was changed. --yes takes the new prices.');
    const answer = await terminal.ask('Take them? [y/n] ', interruptions.first);
    if (answer === null || !/^y(es)?$/i.test(answer.trim())) return printed(out, 'Nothing was changed.\n');
  }
  const path = await keepCatalogue(io, after.text);
  out.print(`${after.rows.length} models, as of ${after.date}, in ${path}\n`);
  const ends = retiring(DEFAULT_MODELS, after.date, SOON);
  for (const { name, retires } of ends)
    out.print(`The default model ${name} is shut down on ${retires}: update treadle.\n`);
  return EXIT.done;
}
