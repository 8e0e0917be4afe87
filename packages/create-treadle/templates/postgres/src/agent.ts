import { builtInTools, defineAgent, type Model } from 'treadle';

/** An agent that reads the files of a folder. */
export const createAgent = (model: Model, folder: string) =>
  defineAgent({
    id: 'reader',
    model,
    instructions: 'You answer questions about a folder of files. Be brief.',
    tools: builtInTools({ root: folder }),
  });
