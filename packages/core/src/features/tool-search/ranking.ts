import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { intentOf, intentsOf } from './intent.ts';
import { synonymsOf, termsOf } from './terms.ts';

/** What is searched of a tool. */
export interface SearchedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

// BM25F: each field has a weight of its own, and counts less for each word the longer it is.
const FIELDS = [
  { weight: 5, lengthShare: 0.5 },
  { weight: 4, lengthShare: 0.5 },
  { weight: 1, lengthShare: 0.7 },
  { weight: 0.3, lengthShare: 0.7 },
] as const;

/** How soon more of the same word counts no more. */
const SATURATION = 1.2;

/** What a word counts that only means the same. */
const SYNONYM = 0.4;

/** How much more a tool counts that does to things what the query wants. */
const SAME_INTENT = 1.3;

/** The name, the first line of the description, the rest of it, and the parameters. */
const fieldsOf = ({ name, description, inputSchema }: SearchedTool): readonly string[] => {
  const [title = '', ...rest] = description.split('\n');
  return [name, title, rest.join('\n'), parameterText(inputSchema, 0)];
};

const MOST_DEPTH = 3;

/** Names and descriptions of parameters, and of what is in them. */
function parameterText(schema: JsonValue | undefined, depth: number): string {
  if (!isJsonObject(schema) || depth > MOST_DEPTH) return '';
  const { properties, items } = schema;
  const inner = isJsonObject(properties) ? Object.entries(properties) : [];
  const texts = inner.map(([name, property]) => `${name} ${described(property)} ${parameterText(property, depth + 1)}`);
  return [...texts, parameterText(items, depth + 1)].join('\n');
}

const described = (schema: JsonValue | undefined): string =>
  isJsonObject(schema) && typeof schema['description'] === 'string' ? schema['description'] : '';

/** How often a tool has a term, all fields together: weighed by field and by the field's length. */
type Frequencies = ReadonlyMap<string, number>;

/** Finds tools by what they are for. Made once for a list of tools. */
export interface ToolIndex<Searched extends SearchedTool> {
  /** The tools that fit best, the best first: at most `most`, and none that has no word of the query. */
  find(query: string, most: number, fits?: (name: string) => boolean): readonly Searched[];
}

/** Indexes tools for searches in words. */
export function indexTools<Searched extends SearchedTool>(tools: readonly Searched[]): ToolIndex<Searched> {
  const fields = tools.map((tool) => fieldsOf(tool).map(termsOf));
  const averages = FIELDS.map(
    (_, at) => fields.reduce((sum, of) => sum + (of[at]?.length ?? 0), 0) / fields.length || 1,
  );
  const frequencies = fields.map((of) => frequenciesOf(of, averages));
  const holders = new Map<string, number[]>();
  for (const [place, found] of frequencies.entries()) {
    for (const term of found.keys()) {
      const places = holders.get(term);
      if (places) places.push(place);
      else holders.set(term, [place]);
    }
  }
  const intents = tools.map(intentsOf);
  const places = new Map(tools.map(({ name }, place) => [name, place]));

  function scores(query: string): ReadonlyMap<number, number> {
    const sums = new Map<number, number>();
    for (const term of new Set(termsOf(query))) {
      const found = new Map<number, number>();
      const take = (one: string, share: number): void => {
        for (const place of holders.get(one) ?? []) {
          const counted = share * (frequencies[place]?.get(one) ?? 0);
          found.set(place, Math.max(found.get(place) ?? 0, counted));
        }
      };
      take(term, 1);
      const literal = found.size;
      for (const other of synonymsOf(term)) take(other, SYNONYM);
      // A word that no tool has, but others that mean the same, is as rare as those.
      const rarity = rarityOf(literal === 0 ? found.size : (literal + found.size) / 2, tools.length);
      for (const [place, counted] of found) {
        sums.set(place, (sums.get(place) ?? 0) + (rarity * counted) / (counted + SATURATION));
      }
    }
    const wanted = intentOf(query);
    for (const [place, sum] of sums)
      if (wanted.some((intent) => intents[place]?.has(intent) === true)) sums.set(place, sum * SAME_INTENT);
    return sums;
  }

  return {
    find(query, most, fits = () => true) {
      const named = places.get(query.trim());
      const sums = scores(query);
      const score = (place: number): number => (place === named ? Infinity : (sums.get(place) ?? 0));
      const found = new Set(named === undefined ? sums.keys() : [named, ...sums.keys()]);
      return [...found]
        .toSorted((one, other) => score(other) - score(one) || one - other)
        .flatMap((place) => tools[place] ?? [])
        .filter(({ name }) => fits(name))
        .slice(0, most);
    },
  };
}

const rarityOf = (holders: number, all: number): number => Math.log(1 + (all - holders + 0.5) / (holders + 0.5));

function frequenciesOf(fields: readonly (readonly string[])[], averages: readonly number[]): Frequencies {
  const frequencies = new Map<string, number>();
  for (const [at, { weight, lengthShare }] of FIELDS.entries()) {
    const terms = fields[at] ?? [];
    const length = 1 - lengthShare + lengthShare * (terms.length / (averages[at] ?? 1));
    for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + weight / length);
  }
  return frequencies;
}
