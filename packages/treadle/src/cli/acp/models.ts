import type { CliIo } from '../io.ts';

/** The models that the keys of an environment can ask, as `provider/model`, without those that are shut down. */
export async function modelsFor(env: CliIo['env']): Promise<readonly string[]> {
  const { CATALOGUE, DEPLOYMENTS } = await import('@treadle/models');
  const reached = new Set(
    DEPLOYMENTS.filter(({ keyVariables }) => keyVariables.some((name) => env[name])).map(({ name }) => name),
  );
  const today = new Date().toISOString().slice(0, 10);
  return CATALOGUE.filter(
    ({ provider, id, retires }) =>
      reached.has(provider) && !id.includes('*') && (retires === undefined || retires > today),
  ).map(({ provider, id }) => `${provider}/${id}`);
}
