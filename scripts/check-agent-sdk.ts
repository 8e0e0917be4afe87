// Runs the conversations of the tests through a Claude Agent SDK that is installed elsewhere, against the executable
// `treadle-agent-sdk` of this checkout: `node scripts/check-agent-sdk.ts FOLDER`. FOLDER has a node_modules with the SDK.
// No key and no network is needed: the model is a fake provider. This is not a part of CI.

import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

import type { Json, Options } from '../packages/treadle/src/test-support/agent-sdk/client.ts';
import { CONVERSATIONS } from '../packages/treadle/src/test-support/agent-sdk/shared.ts';
import { world } from '../packages/treadle/src/test-support/agent-sdk/world.ts';

const SDK = '@anthropic-ai/claude-agent-sdk';

/** What is used of the SDK. */
interface ClientSdk {
  readonly query: (given: { readonly prompt: string; readonly options: Options }) => AsyncIterable<Json>;
}

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error(`Give a folder in which ${SDK} is installed: node scripts/check-agent-sdk.ts FOLDER`);
  process.exit(2);
}
const found = createRequire(join(resolve(folder), 'package.json'));
const { query } = (await import(pathToFileURL(found.resolve(SDK)).href)) as ClientSdk;

let failed = 0;
for (const { name, turns, prompt, options, problem } of CONVERSATIONS) {
  await using place = await world(turns);
  const messages: Json[] = [];
  try {
    const given = { ...place.options(options), pathToClaudeCodeExecutable: place.executable };
    for await (const message of query({ prompt, options: given })) messages.push(message);
  } catch (error) {
    messages.push({ thrown: String(error) });
  }
  const wrong = problem(messages);
  if (wrong !== null) failed += 1;
  console.log(wrong === null ? `ok      ${name}` : `FAILED  ${name}\n        ${wrong}`);
}
process.exitCode = failed === 0 ? 0 : 1;
