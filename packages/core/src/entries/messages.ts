// Messages, their content, and the estimate of their tokens.
export { base64Bytes, base64Of } from '../messages/base64.ts';
export { checkMessages, type MessageFill } from '../messages/check.ts';
export * from '../messages/content.ts';
export { estimateMessages } from '../messages/estimate-frame.ts';
export { estimateMessage, estimateText } from '../messages/estimate.ts';
export * from '../messages/message.ts';
