// `npm start` loads this file before anything is built, so it imports nothing.

/** The job of `npm start` without a prompt: several turns and tools, in any folder, with any model. */
export const demoPrompt =
  'What is in this folder? Then find the three largest TypeScript files, count the lines of each, and list the files ' +
  'that mention "demoModel".';
