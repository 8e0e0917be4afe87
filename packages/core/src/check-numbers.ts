import { TreadleError } from './errors.ts';

function check(name: string, value: number, fits: boolean, must: string): number {
  if (fits) return value;
  throw new TreadleError('invalid_definition', `${name} must be ${must}, and it is ${value}.`);
}

/** @throws TreadleError `invalid_definition` unless the option is a number above 0. */
export const mustBePositive = (name: string, value: number): number => check(name, value, value > 0, 'greater than 0');

/** @throws TreadleError `invalid_definition` unless the option is 1, 2, 3 and so on. */
export const mustBeCount = (name: string, value: number): number =>
  check(name, value, Number.isSafeInteger(value) && value >= 1, 'a whole number of at least 1');

/** @throws TreadleError `invalid_definition` unless the option is 0 or a count. */
export const mustBeWhole = (name: string, value: number): number =>
  check(name, value, Number.isSafeInteger(value) && value >= 0, 'a whole number of at least 0');
