export { cacheHitRate } from '@treadle/core/model';
export { CATALOGUE, lookUp } from './catalogue.ts';
export { priceOf } from './price.ts';
export type { Cost, PriceOptions } from './price.ts';
export { checkRow } from './row.ts';
export type { CataloguePrice, CatalogueRow, InputModality, PriceTier, TokenPrices } from './row.ts';
