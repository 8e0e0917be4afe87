/** The tool that finds tools whose definitions are not in the prompt. */
export const SEARCH_TOOLS = 'search_tools';

/** The name under which a model calls such a tool, where its wire can't add definitions to a prompt. */
export const CALL_TOOL = 'call_tool';
