/** Why an operation is no tool, or why a call of one was not sent. Stable: programs may branch on it. */
export type OpenApiProblemCode =
  /** A `$ref` that leads out of the document. Nothing is ever fetched or read for one. */
  | 'foreign_reference'
  /** A `$ref` that leads nowhere, or in circles without a schema between. */
  | 'broken_reference'
  /** A part of the document that doesn't have the shape it should have. */
  | 'bad_document'
  /** No address to send requests to: `baseUrl` names one. */
  | 'no_server'
  /** The operation has a server of its own, which is not to get the credentials. */
  | 'other_server'
  /** Something that can't be done here: a method, a media type, a style. */
  | 'unsupported'
  /** An argument that can't be sent as it is. */
  | 'bad_argument'
  /** A credential that could not be had. */
  | 'no_credentials';

/** What is wrong with a part of a document, or with a call. Tools turn it into an error result. */
export class OpenApiProblem extends Error {
  readonly code: OpenApiProblemCode;

  constructor(code: OpenApiProblemCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'OpenApiProblem';
    this.code = code;
  }
}
