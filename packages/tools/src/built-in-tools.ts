import type { Tool } from '@treadle/core';
import { bashTool, type BashToolOptions } from './bash-tool.ts';
import { editFileTool, listFilesTool, readFileTool, writeFileTool } from './file-tools.ts';
import type { EditFileToolOptions, ListFilesToolOptions, ReadFileToolOptions } from './file-tools.ts';
import type { CommonToolOptions } from './options.ts';
import { asRoot } from './root/root.ts';
import { searchTool, type SearchToolOptions } from './search-tool.ts';

type Own<Options extends CommonToolOptions> = Omit<Options, keyof CommonToolOptions>;

/** Settings of {@link builtInTools}: the common ones, and each tool's own. */
export interface BuiltInToolsOptions extends CommonToolOptions {
  readonly bash?: Own<BashToolOptions>;
  readonly readFile?: Own<ReadFileToolOptions>;
  readonly editFile?: Own<EditFileToolOptions>;
  readonly listFiles?: Own<ListFilesToolOptions>;
  readonly search?: Own<SearchToolOptions>;
}

/**
 * The six built-in tools over one root folder: `list_files`, `search`, `read_file`, `write_file`, `edit_file`, `bash`.
 * Choose by name for fewer.
 *
 * @throws TreadleError `invalid_definition` when the root is not a folder.
 * @example
 * ```ts
 * import { builtInTools } from '@treadle/tools';
 *
 * const tools = builtInTools({ root: process.cwd() });
 * const readers = tools.filter((tool) => tool.readOnly);
 * console.log(readers.map((tool) => tool.name)); // [ 'list_files', 'search', 'read_file' ]
 * ```
 */
export function builtInTools(options: BuiltInToolsOptions): Tool[] {
  const common = {
    root: asRoot(options.root, options),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  };
  return [
    listFilesTool({ ...options.listFiles, ...common }),
    searchTool({ ...options.search, ...common }),
    readFileTool({ ...options.readFile, ...common }),
    writeFileTool(common),
    editFileTool({ ...options.editFile, ...common }),
    bashTool({ ...options.bash, ...common }),
  ];
}
