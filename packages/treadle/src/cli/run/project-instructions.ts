import { bytes } from '../output/figures.ts';
import { plainLine } from '../asking/plain-text.ts';

/** The instructions of the folder's project; says which files they are from, and what is wrong with others. */
export async function projectInstructionsOf(folder: string, note: (text: string) => void): Promise<string> {
  const { readProjectInstructions } = await import('@treadle/tools');
  const { files, warnings, text } = await readProjectInstructions(folder);
  if (files.length > 0) note(`Instructions: ${filesText(files)}.`);
  for (const { message } of warnings) note(plainLine(message, 300));
  return text;
}

/** `../AGENTS.md (1.2 KB), AGENTS.md (300 bytes)` */
export const filesText = (files: readonly { readonly path: string; readonly bytes: number }[]): string =>
  files.map((file) => `${plainLine(file.path, 200)} (${bytes(file.bytes)})`).join(', ');
