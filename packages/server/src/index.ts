export * from './encoders/encoder.ts';
export { nativeFormat, type ClosingNotice } from './encoders/native.ts';
