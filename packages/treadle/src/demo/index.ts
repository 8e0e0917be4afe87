/** The model that needs no key: for a first look at the command line. */
export { demoModel } from './model.ts';
export { demoPrompt } from './prompt.ts';
