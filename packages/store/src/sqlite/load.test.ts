import { describe, expect, it } from 'vitest';
import { type ModuleHost, loadSqlite } from './load.ts';

/** A Node that warns while it loads. */
function host(load: (emit: (...args: unknown[]) => void) => object | undefined) {
  const heard: unknown[][] = [];
  const node: ModuleHost = {
    version: 'v22.18.0',
    emitWarning: (...args: unknown[]) => void heard.push(args),
    getBuiltinModule: () =>
      load((...args) => {
        Reflect.apply(node.emitWarning, node, args);
      }),
  };
  return { node, heard };
}

describe('loadSqlite', () => {
  it('keeps SQLite’s own announcement from the terminal, and no other warning', () => {
    const sqlite = {};
    const { node, heard } = host((emit) => {
      emit('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning');
      emit('Something else is experimental', 'ExperimentalWarning');
      emit('SQLite is deprecated', 'DeprecationWarning');
      return sqlite;
    });
    const before = node.emitWarning;
    expect(loadSqlite(node)).toBe(sqlite);
    expect(heard).toEqual([
      ['Something else is experimental', 'ExperimentalWarning'],
      ['SQLite is deprecated', 'DeprecationWarning'],
    ]);
    expect(node.emitWarning).toBe(before);
  });

  it('puts warnings back when loading throws', () => {
    const { node } = host(() => {
      throw new Error('no');
    });
    const before = node.emitWarning;
    expect(() => loadSqlite(node)).toThrow('no');
    expect(node.emitWarning).toBe(before);
  });

  it('says which Node it needs where there is none', () => {
    expect(() => loadSqlite(host(() => undefined).node)).toThrow(/needs Node 22\.19 or newer; this is v22\.18\.0/);
  });
});
