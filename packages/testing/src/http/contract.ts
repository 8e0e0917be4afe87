import type { ContractCase } from '../contract/case.ts';
import { bodyCases } from './bodies.ts';
import type { CreateHttp } from './case.ts';
import { connectionCases } from './connections.ts';
import { failureCases } from './failures.ts';

/**
 * What every transport does, whichever library is under it: bodies and content encodings, time limits, cancelling, and
 * connections that went silent. The cases run against servers on this machine.
 *
 * @param create Makes a transport with these limits and this clock. It is called once per case.
 *
 * @example
 * ```ts
 * import { fetchHttp } from '@treadle/models/fetch';
 * import { httpContract } from '@treadle/testing';
 * import { it } from 'node:test';
 *
 * for (const { name, run } of httpContract((options) => fetchHttp(undefined, options))) it(name, run);
 * ```
 */
export function httpContract(create: CreateHttp): readonly ContractCase[] {
  const cases = { ...bodyCases, ...failureCases, ...connectionCases };
  return Object.entries(cases).map(([name, test]) => ({ name, run: () => test(create, undefined) }));
}
