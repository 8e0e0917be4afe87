/** A mistake of the caller's, in words that say what to do. */
export class CreateProblem extends Error {
  override readonly name = 'CreateProblem';
}
