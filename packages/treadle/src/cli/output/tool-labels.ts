/**
 * The names of the built-in tools for people. They don't depend on a folder, and that of a session may be gone.
 *
 * @param cwd any folder that is there
 */
export async function toolLabels(cwd: string): Promise<(toolName: string) => string> {
  const { askUserTool, builtInTools, planTool, todoTool } = await import('@treadle/tools');
  const tools = [...builtInTools({ root: cwd }), todoTool(), planTool(), askUserTool()];
  const labels = new Map(tools.map((tool) => [tool.name, tool.label]));
  return (name) => labels.get(name) ?? name;
}
