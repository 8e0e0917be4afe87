/** What a demo page says. */
export interface Copy {
  readonly name: string;
  readonly headline: string;
  readonly lead: string;
  readonly action: string;
  readonly items: readonly (readonly [title: string, text: string, aside: string])[];
  readonly quote: string;
  readonly by: string;
}

type Words = Omit<Copy, 'name'>;

const FOOD: Words = {
  headline: 'Slow mornings, warm bread',
  lead: 'Naturally leavened, shaped by hand and baked before the street wakes up. Come early for the crust.',
  action: 'Order for tomorrow',
  items: [
    ['Country sourdough', 'Three flours, thirty hours, one very hot oven. It keeps for days.', '$7'],
    ['Cardamom bun', 'Folded with brown butter and finished with a crackle of sugar.', '$4'],
    ['Seeded rye', 'Dense, dark and a little sweet. Made for salted butter.', '$6'],
  ],
  quote: 'The line is long, and nobody in it seems to mind.',
  by: 'Mara Lindqvist, The Corner Paper',
};

const PRODUCT: Words = {
  headline: 'See what matters, sooner',
  lead: 'One calm place for the numbers your team asks about every week. Connect your sources and share what you find.',
  action: 'Start for free',
  items: [
    ['Live dashboards', 'Charts that refresh themselves, and say when something looks wrong.', '01'],
    ['Shared questions', 'Ask in plain words. Everyone sees the answer and where it came from.', '02'],
    ['Quiet alerts', 'One message when it matters, with the context to act on it.', '03'],
  ],
  quote: 'Our Monday meeting went from an hour to ten minutes.',
  by: 'Devon Okafor, Head of Operations',
};

const WORK: Words = {
  headline: 'Pictures of ordinary light',
  lead: 'Portraits, interiors and long walks with a camera. Available for commissions and the occasional good conversation.',
  action: 'Get in touch',
  items: [
    ['North shore', 'Four winters of fog, rope and rust along one kilometre of coast.', '2026'],
    ['Kitchen table', 'Families at home, photographed where they really sit.', '2025'],
    ['Night shift', 'The people who keep a city going while it sleeps.', '2024'],
  ],
  quote: 'She notices the thing everybody else walks past.',
  by: 'Ines Carvalho, Curator',
};

const ANYTHING: Words = {
  headline: 'Made with care, made to last',
  lead: 'A small team with a clear idea: do a few things, do them well, and be easy to talk to.',
  action: 'Say hello',
  items: [
    [
      'Thoughtful from the start',
      'We listen first. The plan fits on a page, and you will recognise yourself in it.',
      '01',
    ],
    ['Built in the open', 'Progress every week, in a form that you can try and not just read about.', '02'],
    ['Here afterwards', 'The people who made it answer when you call.', '03'],
  ],
  quote: 'Simple, friendly, and exactly what they said it would be.',
  by: 'Jonas Weber, a happy customer',
};

const TOPICS: readonly (readonly [RegExp, Words])[] = [
  [/\b(?:bak|bread|caf|coffee|restaurant|pizz|food|bistro|cake|menu|tea)/i, FOOD],
  [/\b(?:dashboard|saas|app\b|analytic|software|startup|product|api|data|ai\b|pricing)/i, PRODUCT],
  [/\b(?:portfolio|photo|artist|design|studio|gallery|architect|film|resume)/i, WORK],
];

/** Words for a page, from what was asked. `titled "…"` and `with the text "…"` set the name and the lead. */
export function copyFor(asked: string): Copy {
  const words = TOPICS.find(([topic]) => topic.test(asked))?.[1] ?? ANYTHING;
  const title = /(?:titled|called|named) ["“]([^"”]+)["”]/i.exec(asked)?.[1];
  const lead = /with the text ["“]([^"”]+)["”]/i.exec(asked)?.[1];
  const subject =
    /\bfor (?:an? |the |my |our )?([\p{L}\d][\p{L}\d '-]{1,28}?)(?=[,.!?]|$| with | in | that | called )/iu;
  const name = title ?? subject.exec(asked)?.[1] ?? 'Demo page';
  return {
    ...words,
    name: capitalized(name),
    ...(title !== undefined && { headline: title }),
    ...(lead !== undefined && { lead }),
  };
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
