/** A number as written in a file: exactly `digits / 10^scale`, so that sums of prices come out as on paper. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

const PLAIN = /^([+-]?)(\d+|\d{1,3}(?:[,'\u00a0\u202f ]\d{3})+)(?:\.(\d+))?$|^([+-]?)\.(\d+)$/;
const COMMA = /^([+-]?)(\d+|\d{1,3}(?:[.'\u00a0\u202f ]\d{3})+)(?:,(\d+))?$/;
const SCIENTIFIC = /^([+-]?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,2})$/;
const MARKS = /^([+-]?)\s*(?:[$€£¥₹]|USD|EUR|GBP|CHF)\s*|\s*(?:[$€£¥₹%]|USD|EUR|GBP|CHF)$/g;

/** Reads `12`, `-1,234.50`, `$3.20`, `15 %`, `1.5e3`; with `comma`, `1.234,50`. Anything else is not a number. */
export function parseDecimal(text: string, comma = false): Decimal | undefined {
  const bare = text.trim().replace('−', '-').replace(MARKS, '$1');
  const scientific = SCIENTIFIC.exec(bare);
  if (scientific !== null) {
    const [, sign = '', whole = '', fraction = '', exponent = '0'] = scientific;
    const scale = fraction.length - Number(exponent);
    const digits = BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`);
    return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
  }
  const match = (comma ? COMMA : PLAIN).exec(bare);
  if (match === null) return undefined;
  const sign = match[1] ?? match[4] ?? '';
  const whole = (match[2] ?? '0').replace(/\D/g, '');
  const fraction = match[3] ?? match[5] ?? '';
  return { digits: BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`), scale: fraction.length };
}

/** The decimal of a JavaScript number, as it prints. */
export function decimalOf(value: number): Decimal | undefined {
  return Number.isFinite(value) ? parseDecimal(String(value)) : undefined;
}

function atScale(value: Decimal, scale: number): bigint {
  return value.digits * 10n ** BigInt(scale - value.scale);
}

export function compareDecimals(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale);
  const [left, right] = [atScale(a, scale), atScale(b, scale)];
  return left < right ? -1 : left > right ? 1 : 0;
}

export function addDecimals(values: readonly Decimal[]): Decimal {
  const scale = values.reduce((most, value) => Math.max(most, value.scale), 0);
  return { digits: values.reduce((sum, value) => sum + atScale(value, scale), 0n), scale };
}

/** `value / by`, rounded half away from zero to `places` decimals. */
function divideDecimal(value: Decimal, by: number, places = 6): Decimal {
  const divisor = BigInt(by) * 10n ** BigInt(value.scale);
  const scaled = value.digits * 10n ** BigInt(places);
  const half = scaled < 0n ? -divisor / 2n : divisor / 2n;
  return { digits: (scaled + half) / divisor, scale: places };
}

/** As people write it: no thousands separators, no trailing zeros after the point. */
export function formatDecimal(value: Decimal): string {
  const negative = value.digits < 0n;
  const digits = String(negative ? -value.digits : value.digits).padStart(value.scale + 1, '0');
  const whole = digits.slice(0, digits.length - value.scale);
  const fraction = digits.slice(digits.length - value.scale).replace(/0+$/, '');
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The usual figures of a row of numbers. */
export interface Figures {
  readonly count: number;
  readonly sum: Decimal;
  readonly average: Decimal;
  readonly median: Decimal;
  readonly min: Decimal;
  readonly max: Decimal;
}

/** Nothing when there are no numbers: an average of nothing isn't zero. */
export function figuresOf(values: readonly Decimal[]): Figures | undefined {
  const sorted = [...values].sort(compareDecimals);
  const [min] = sorted;
  const max = sorted.at(-1);
  if (min === undefined || max === undefined) return undefined;
  const sum = addDecimals(values);
  const middle = sorted.slice(Math.floor((sorted.length - 1) / 2), Math.floor(sorted.length / 2) + 1);
  return {
    count: values.length,
    sum,
    average: divideDecimal(sum, values.length),
    median: divideDecimal(addDecimals(middle), middle.length),
    min,
    max,
  };
}
