/** The id under which money is set aside for a summary: another for each, and the same for the process that writes it anew. */
export const summaryKey = (of: string, number: number): string => `${of}/summary/${number}`;

export const isForSummary = (key: string): boolean => /\/summary\/\d+$/.test(key);
