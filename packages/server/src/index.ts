export * from './encoders/encoder.ts';
export { agUiFormat, type AgUiRequest } from './encoders/ag-ui.ts';
export { aiSdkFormat } from './encoders/ai-sdk.ts';
export { relayJsonFormat } from './encoders/relay-json.ts';
export { relayRawFormat } from './encoders/relay-raw.ts';
export { relayXmlFormat } from './encoders/relay-xml.ts';
export type { RelayOptions } from './encoders/relay.ts';
export { nativeFormat, type ClosingNotice } from './encoders/native.ts';
