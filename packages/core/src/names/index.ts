export { closestName, didYouMean } from './closest.ts';
export { builtInToolName, toolMatcherProblem } from './tool-names.ts';
