/** Words of names, descriptions and queries that say nothing about what a tool does. */
const EMPTY: ReadonlySet<string> = new Set(
  (
    'a about all also am an and any are as at be been being but by can could did do does doing each else etc for from had ' +
    'has have having he her here his how i if in into is it its just may might more most must need no nor not of on ' +
    'or other our ours out over per she should so some such than that the their them then there these they this those ' +
    'through to too under until up upon us use used using via want was we were what when where whether which while who ' +
    'whom whose why will with would yes you your'
  ).split(' '),
);

/**
 * Words that interfaces use for each other: the verbs of operations, abbreviations, and a few things that nearly every
 * service has under two names. A word that is in two lines gets the words of both.
 */
const SYNONYMS: readonly string[] = [
  'get fetch retrieve read show view find lookup look display download',
  'list all enumerate show find',
  'search find query lookup filter',
  'create add new make insert register start open post set',
  'save store write put upload set create',
  'update edit change modify patch rename correct replace set put configure',
  'delete remove erase revoke destroy purge clear discard',
  'cancel stop abort end terminate',
  'enable allow activate',
  'disable block deactivate',
  'run execute trigger start launch',
  'rerun retry repeat again',
  'check verify test validate',
  'approve accept confirm',
  'reject deny decline refuse',
  'send submit deliver dispatch post',
  'attach link associate connect add',
  'detach unlink disconnect remove',
  'move transfer relocate',
  'copy clone duplicate fork',
  'share invite collaborate',
  'count number many total statistics stats metrics',
  'repo repository',
  'org organization organisation company',
  'enterprise company business',
  'user person people account member',
  'collaborator colleague teammate contributor',
  'pr pull',
  'pat token',
  'ci workflow build pipeline',
  'issue ticket bug',
  'message sms text',
  'email mail',
  'media attachment picture image photo file',
  'page document doc note',
  'comment reply remark',
  'star favourite favorite bookmark',
  'credential password secret key login',
  'permission access role right',
  'config configuration setting setup option preference',
  'env environment',
  'variable value parameter',
  'webhook hook callback',
  'event activity history log timeline',
  'notification alert',
  'subscription subscribe follow watch',
  'release version publish',
  'artifact output',
  'deployment deploy rollout',
  'phone telephone mobile',
  'call dial',
  'recording audio',
  'address location',
  'cost price billing usage',
  'limit threshold quota maximum',
  'allowlist whitelist',
  'label tag',
  'admin administrator',
  'app application integration',
  'auth authentication authorization login',
  'db database table',
  'id identifier',
  'info information details',
  'my own me mine self authenticated',
  'vulnerability security',
  'day date daily',
  'default initial standard',
];

const word = /[\p{L}\p{M}]+|\p{N}+/gu;

/** The words of a text as they are compared: of names too, such as `listOpenOrders` or `list_open_orders`. */
export function termsOf(text: string): readonly string[] {
  const spaced = text.replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2').toLowerCase();
  const terms: string[] = [];
  for (const [found] of spaced.matchAll(word)) if (!EMPTY.has(found)) terms.push(stem(found));
  return terms;
}

const stems = new Map<string, string>();

/** A word without its ending: `repositories` and `repository`, `creating` and `creates` become the same. */
function stem(given: string): string {
  const known = stems.get(given);
  if (known !== undefined) return known;
  const made = cut(given);
  // Texts of tools have few different words; a stranger's may have many.
  if (stems.size > 20_000) stems.clear();
  stems.set(given, made);
  return made;
}

/** Endings, longest first within what they belong to, and what stands for them. */
const ENDINGS: readonly (readonly [ending: string, becomes: string])[] = [
  ['ations', ''],
  ['ation', ''],
  ['ings', ''],
  ['ing', ''],
  ['ions', ''],
  ['ion', ''],
  ['ments', ''],
  ['ment', ''],
  ['ies', 'y'],
  ['ied', 'y'],
  ['ers', ''],
  ['er', ''],
  ['ors', ''],
  ['or', ''],
  ['es', ''],
  ['ed', ''],
  ['ly', ''],
  ['s', ''],
  ['e', ''],
];

const LEAST_STEM = 3;

function cut(given: string): string {
  let text = given;
  if (text.length <= LEAST_STEM) return text;
  for (const [ending, becomes] of ENDINGS) {
    if (!text.endsWith(ending) || text.length - ending.length < LEAST_STEM || (ending === 's' && text.endsWith('ss')))
      continue;
    text = text.slice(0, -ending.length) + becomes;
    break;
  }
  // `stopped` is `stop`, `retrieve` and `retrieval` are `retriev`.
  if (text.length > LEAST_STEM && /([^aeiouls])\1$/.test(text)) text = text.slice(0, -1);
  if (text.length > LEAST_STEM && text.endsWith('y')) text = `${text.slice(0, -1)}i`;
  return text;
}

const synonyms = new Map<string, ReadonlySet<string>>();

/** The terms that stand for a term, without itself. */
export function synonymsOf(term: string): ReadonlySet<string> {
  if (synonyms.size === 0) {
    for (const line of SYNONYMS) {
      const terms = line.split(' ').map(stem);
      for (const one of terms) synonyms.set(one, new Set([...(synonyms.get(one) ?? []), ...terms]));
    }
    for (const [one, others] of synonyms) synonyms.set(one, new Set([...others].filter((other) => other !== one)));
  }
  return synonyms.get(term) ?? NONE;
}

const NONE: ReadonlySet<string> = new Set();
