#!/usr/bin/env node
import { run } from './start.js';

run(new URL('../src/agent-sdk/process.ts', import.meta.url), new URL('../dist/agent-sdk/process.js', import.meta.url));
