export { closestName, didYouMean } from './closest.ts';
export { builtInToolName } from './tool-names.ts';
