import { openLatest, type Agent, type Journal } from 'treadle';

/** Asks the agent in its latest session, which any process with the same database shares. */
export async function ask(agent: Agent, journal: Journal, prompt: string): Promise<string> {
  const session = await openLatest(agent, { journal });
  // A run whose process died goes on first.
  if (session.canResume) await session.resume().result;
  const { status, text } = await session.prompt(prompt).result;
  const prompts = session.messages.filter(({ role }) => role === 'user').length;
  return `${text || status}\n\n(${prompts} prompts in this session)`;
}
