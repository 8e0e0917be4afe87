/** The key of a service account, as the JSON file has it that Google gives out. */
export interface GoogleServiceAccount {
  readonly client_email: string;
  readonly private_key: string;
  readonly project_id?: string;
}

/** Where Google's tokens come from. */
export interface GoogleTokenOptions {
  /** Default: the application default credentials. */
  readonly serviceAccount?: GoogleServiceAccount;
  /** Path of a file with credentials of any kind Google has. */
  readonly keyFile?: string;
  /** Default: the one scope that Google Cloud's services share. */
  readonly scopes?: readonly string[];
}
