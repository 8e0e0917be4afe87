export type { AwsCredentials, AwsCredentialSource, AwsSignatureOptions } from './auth/aws-options.ts';
export { awsSignature } from './auth/aws.ts';
export { BEDROCK, bedrock } from './deployments/bedrock.ts';
export type { BedrockOptions } from './deployments/bedrock.ts';
export type { Deployment, ModelOptions } from './deployments/deployment.ts';
export { bedrockConverse } from './protocols/bedrock/protocol.ts';
export type { BedrockQuirks } from './protocols/bedrock/quirks.ts';
