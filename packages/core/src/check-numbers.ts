import { TreadleError } from './errors.ts';

function check(name: string, value: number, fits: boolean, must: string): number {
  mustBeNumber(name, value);
  if (fits) return value;
  throw new TreadleError('invalid_definition', `${name} must be ${must}, and it is ${value}.`);
}

/** @throws TreadleError `invalid_definition` for what JavaScript and JSON bring in a number's place, such as its text. */
export function mustBeNumber(name: string, value: unknown): asserts value is number {
  if (typeof value === 'number') return;
  const isText = typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value));
  const advice = isText ? ` Write: ${name.split(/[.: ]+/).at(-1)}: ${Number(value)}` : '';
  throw new TreadleError(
    'invalid_definition',
    `${name} must be a number, and it is ${typeof value === 'string' ? JSON.stringify(value) : typeof value}.${advice}`,
  );
}

/** @throws TreadleError `invalid_definition` unless the option is a number above 0. */
export const mustBePositive = (name: string, value: number): number => check(name, value, value > 0, 'greater than 0');

/** @throws TreadleError `invalid_definition` unless the option is a finite number of at least 1. */
export const mustBeAtLeastOne = (name: string, value: number): number =>
  check(name, value, Number.isFinite(value) && value >= 1, 'at least 1');

/** @throws TreadleError `invalid_definition` unless the option is 1, 2, 3 and so on. */
export const mustBeCount = (name: string, value: number): number =>
  check(name, value, Number.isSafeInteger(value) && value >= 1, 'a whole number of at least 1');

/** @throws TreadleError `invalid_definition` unless the option is 0 or a count. */
export const mustBeWhole = (name: string, value: number): number =>
  check(name, value, Number.isSafeInteger(value) && value >= 0, 'a whole number of at least 0');
