// A server of the newer protocol that runs its tools as tasks, written by hand: the SDK's servers can't.

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { JsonObject } from '@treadle/core';

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: JsonObject;
}

const log = process.env['CALLS'];
const note = (what: string): void => {
  if (log !== undefined) appendFileSync(log, `${what}\n`);
};

/** How often each task was looked at, and what it was told. */
const tasks = new Map<string, { looked: number; told?: string; cancelled: boolean }>();
const text = (words: string) => ({ content: [{ type: 'text', text: words }] });
const TOOLS = ['slow', 'asking', 'failing', 'endless'];

function taskState(taskId: string): object {
  const task = tasks.get(taskId);
  const [tool = ''] = taskId.split('-');
  if (!task) return { error: { code: -32602, message: `No task ${taskId}.` } };
  task.looked += 1;
  const state = (status: string, more: object = {}) => ({ result: { taskId, status, ...more } });
  if (task.cancelled) return state('cancelled');
  if (tool === 'failing') return state('failed', { error: { code: -32603, message: 'It broke.' } });
  if (tool === 'endless' || task.looked < 2)
    return state('working', { statusMessage: 'Thinking', pollIntervalMs: 100 });
  if (tool === 'slow' || task.told !== undefined) {
    return state('completed', { result: text(`${tool} is done ${task.told ?? ''}`.trim()) });
  }
  const requestedSchema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] };
  const request = { method: 'elicitation/create', params: { mode: 'form', message: 'Which word?', requestedSchema } };
  return state('input_required', { inputRequests: { word: request } });
}

function answer({ method, params = {} }: Request): object {
  const taskId = typeof params['taskId'] === 'string' ? params['taskId'] : '';
  switch (method) {
    case 'server/discover':
      return {
        result: {
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
        },
      };
    case 'tools/list':
      return { result: { tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) } };
    case 'tools/call': {
      const id = `${JSON.stringify(params['name']).slice(1, -1)}-${tasks.size + 1}`;
      tasks.set(id, { looked: 0, cancelled: false });
      note(`call ${id}`);
      return { result: { resultType: 'task', taskId: id, status: 'working', pollIntervalMs: 100, ttlMs: 60_000 } };
    }
    case 'tasks/get':
      return taskState(taskId);
    case 'tasks/update': {
      note(`update ${JSON.stringify(params['inputResponses'])}`);
      const task = tasks.get(taskId);
      if (task) task.told = JSON.stringify(params['inputResponses']);
      return { result: {} };
    }
    case 'tasks/cancel': {
      note(`cancel ${taskId}`);
      const task = tasks.get(taskId);
      if (task) task.cancelled = true;
      return { result: {} };
    }
    default:
      return { error: { code: -32601, message: `No method ${method}.` } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Request;
  if (request.id === undefined) continue;
  const said = answer(request) as { readonly result?: object };
  const result = said.result && { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...said.result };
  const reply = { jsonrpc: '2.0', id: request.id, ...said, ...(result && { result }) };
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
