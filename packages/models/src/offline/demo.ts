/**
 * A job that shows what an agent does, for a first run without any choice of one: several turns, several tools, and facts
 * about whatever folder it runs in. Any model can do it; the offline model does all of it.
 */
export const offlineDemoPrompt =
  'What is in this folder? Then find the three largest TypeScript files, summarise the largest one, count the lines of all ' +
  'three, and tell me where offlineModel is defined.';
