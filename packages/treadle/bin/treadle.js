#!/usr/bin/env node
import { run } from './start.js';

run(new URL('../src/cli/process.ts', import.meta.url), new URL('../dist/cli/process.js', import.meta.url));
