/** A file at a provider. Ending the iteration of `body` early closes the connection. */
export interface ModelFile {
  readonly name: string;
  /** For example `text/csv`. */
  readonly mediaType: string;
  /** In bytes. */
  readonly size: number;
  /** Throws when it breaks off, or isn't as long as `size` says. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Which file of a provider is read, and how. */
export interface ReadModelFileOptions {
  readonly signal: AbortSignal;
  /** A file with more bytes than this is refused. */
  readonly maxBytes: number;
}

/** The files that a provider keeps, such as those that its code execution has made. */
export interface ModelFiles {
  /** Rejects when there is no such file, when it may not be read, or when the provider can't be reached. */
  read(fileId: string, options: ReadModelFileOptions): Promise<ModelFile>;
}
