/** The projects that `create-treadle` writes: a folder of `templates/` each. */
export const TEMPLATES = {
  terminal: 'An agent in a terminal',
  'chat-next': 'A chat page with Next.js',
  'chat-hono': 'A chat page with Hono',
  postgres: 'An agent on Postgres',
} as const;

/** The name of a template. */
export type Template = keyof typeof TEMPLATES;

export const isTemplate = (name: string): name is Template => Object.hasOwn(TEMPLATES, name);

/** The names of all templates, for a message. */
export const templateNames = (): string => Object.keys(TEMPLATES).join(', ');

/** What to run in a new project. Next.js starts only what was built before. */
export const commandOf = (template: Template): string => (template === 'chat-next' ? 'npm run dev' : 'npm start');
