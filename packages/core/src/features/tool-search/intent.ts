/** What is done to a thing: what a query wants, and what a tool does. */
export type Intent = 'read' | 'create' | 'update' | 'delete';

const VERBS: Readonly<Record<Intent, string>> = {
  read:
    'get fetch retrieve read show view find look lookup list enumerate see search query download check count details ' +
    'history which what who where how is are has have am may can',
  create:
    'create add new make insert register generate open place start submit upload attach invite send save store put let ' +
    'give set post',
  update: 'update edit change modify patch rename correct replace set put save store configure move',
  delete: 'delete remove erase revoke destroy purge clear cancel',
};

const ORDER: readonly Intent[] = ['read', 'create', 'update', 'delete'];

/** What each verb may mean. */
const intents: ReadonlyMap<string, readonly Intent[]> = new Map(
  [...new Set(Object.values(VERBS).join(' ').split(' '))].map((verb) => [
    verb,
    ORDER.filter((intent) => VERBS[intent].split(' ').includes(verb)),
  ]),
);

const wordsOf = (text: string): readonly string[] =>
  text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u);

/** What a query wants, by its first verb. A thing without a verb is to be read. */
export function intentOf(query: string): readonly Intent[] {
  for (const word of wordsOf(query)) {
    const found = intents.get(word);
    if (found) return found;
  }
  return ['read'];
}

const METHODS: Readonly<Record<string, Intent>> = {
  GET: 'read',
  HEAD: 'read',
  POST: 'create',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
};

/** What a tool may do: by the verbs of its name, or else by the HTTP method at the end of its description. */
export function intentsOf({
  name,
  description,
}: {
  readonly name: string;
  readonly description: string;
}): ReadonlySet<Intent> {
  const named = wordsOf(name).flatMap((word) => intents.get(word) ?? intents.get(word.replace(/s$/, '')) ?? []);
  if (named.length > 0) return new Set(named);
  const [, method = ''] = /(?:^|\n)([A-Z]+) \/\S*$/.exec(description) ?? [];
  const intent = METHODS[method];
  return new Set(intent === undefined ? [] : [intent]);
}
