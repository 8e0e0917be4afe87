export {
  fatalError,
  GENERATE_CODE_CANCELLED,
  GENERATE_CODE_ERROR,
  generateCodeFormat,
  variantCount,
  variantModels,
  type GenerateCodeMessage,
  type GenerateCodeOptions,
  type GenerateCodeType,
} from './generate-code/format.ts';
export { extractHtml, updatedContentOf } from './generate-code/text.ts';
export type { RelayOptions } from './relay/encoder.ts';
export { relayJsonFormat } from './relay/json.ts';
export { relayRawFormat } from './relay/raw.ts';
export { relayRoutes } from './relay/routes.ts';
export { relayXmlFormat } from './relay/xml.ts';
