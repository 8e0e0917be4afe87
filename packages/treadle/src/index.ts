/**
 * Treadle with everything in it: the loop, the models, the built-in tools, the SQLite journal and the command line.
 * The parts are packages of their own (`@treadle/core` and so on) for programs that want less.
 */
export * from '@treadle/core';
export * from '@treadle/models';
export * from '@treadle/mcp';
export * from '@treadle/skills';
export * from '@treadle/store';
export * from '@treadle/tools';
export { demoModel } from './demo/index.ts';
export { model } from './model.ts';
export { main } from './cli/main.ts';
export type { CliIo, InputStream, InterruptSignal, OutputStream } from './cli/io.ts';
export type { CliParts } from './cli/parts.ts';
