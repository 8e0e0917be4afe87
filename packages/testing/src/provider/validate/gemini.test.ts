import { describe, expect, it } from 'vitest';
import { validateGeminiRequest } from '../../index.ts';

const user = (...parts: unknown[]) => ({ role: 'user', parts });
const model = (...parts: unknown[]) => ({ role: 'model', parts });
const text = (value: string) => ({ text: value });
const call = (name: string, id?: string) => ({ functionCall: { name, args: {}, ...(id !== undefined && { id }) } });
const answer = (name: string, id?: string) => ({
  functionResponse: { name, response: { result: '4' }, ...(id !== undefined && { id }) },
});
const declaring = (parameters: unknown, name = 'add') => ({
  tools: [{ functionDeclarations: [{ name, parameters }] }],
});
const object = (properties: object, more: object = {}) => ({ type: 'OBJECT', properties, ...more });

const check = (contents: unknown, over: object = {}) => validateGeminiRequest({ contents, ...over });

describe('validateGeminiRequest', () => {
  it('accepts a conversation with parallel calls, thoughts, images and code the service ran', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    expect(
      check(
        [
          user(text('Look'), image, { fileData: { fileUri: 'gs://a/b' } }),
          model(
            { text: 'Hm', thought: true, thoughtSignature: 's' },
            { text: '', thoughtSignature: 's' },
            { executableCode: { language: 'PYTHON', code: '1' } },
            { codeExecutionResult: { outcome: 'OUTCOME_OK' } },
            { ...call('add', 'a'), thoughtSignature: 's' },
            call('add'),
          ),
          user(answer('add', 'a'), answer('add'), text('Go on')),
          model(text('Done')),
          user(text('Thanks')),
        ],
        {
          systemInstruction: { parts: [text('Be good.')] },
          tools: [
            {
              functionDeclarations: [
                { name: 'add', parameters: object({ a: { type: 'NUMBER' } }, { required: ['a'] }) },
              ],
            },
            { googleSearch: {} },
          ],
          toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['add'] } },
          generationConfig: { temperature: 2, thinkingConfig: { thinkingLevel: 'low' }, stopSequences: ['a'] },
        },
      ),
    ).toEqual([]);
  });

  it.each<[string, unknown, RegExp]>([
    ['no contents', [], /contents are required/],
    ['another role', [{ role: 'assistant', parts: [text('a')] }], /valid role/],
    ['two users in a row', [user(text('a')), user(text('b'))], /roles must alternate/],
    ['no parts', [user()], /parts must not be empty/],
    ['an empty text', [user(text(''))], /must have a text parameter/],
    ['a part that is nothing', [user({})], /exactly one of/],
    ['a part that is two things', [user({ text: 'a', inlineData: { mimeType: 'a/b', data: 'A' } })], /exactly one of/],
    ['an unknown field', [user({ text: 'a', type: 'text' })], /Unknown name "type"/],
    ['an image without data', [user({ inlineData: { mimeType: 'image/png', data: '' } })], /needs data/],
    ['a signature of the user', [user({ text: 'a', thoughtSignature: 's' })], /thoughtSignature/],
    ['a call of the user', [user(call('add'))], /turns of the model/],
    ['a call first', [model(call('add')), user(answer('add'))], /comes immediately after a user turn/],
    ['an unanswered call', [user(text('a')), model(call('add'))], /without responses/],
    ['too few answers', [user(text('a')), model(call('add'), call('add')), user(answer('add'))], /number of function response/],
    ['an answer too late', [user(text('a')), model(call('add')), user(text('b'))], /number of function response/],
    ['an answer to nothing', [user(answer('add'))], /number of function response/],
    ['an answer of another name', [user(text('a')), model(call('add')), user(answer('sub'))], /no response of its name/],
    ['an answer of another id', [user(text('a')), model(call('add', 'x')), user(answer('add', 'y'))], /no response of its name/],
    ['an answer that is a text', [user(text('a')), model(call('add')), user({ functionResponse: { name: 'add', response: 'x' } })], /must be an object/],
    ['an illegal name', [user(text('a')), model(call('1add')), user(answer('1add'))], /must match/],
    ['half a character', [user(text('a\ud83d'))], /surrogate/],
  ])('refuses %s', (_, contents, words) => {
    expect(check(contents).join('\n')).toMatch(words);
  }); // prettier-ignore

  const hi = [user(text('Hi'))];

  it.each<[string, object, RegExp]>([
    ['an unknown field', { stream: true }, /Unknown name "stream"/],
    ['an unknown setting', { generationConfig: { max_tokens: 1 } }, /Unknown name "max_tokens"/],
    ['a temperature of 3', { generationConfig: { temperature: 3 } }, /temperature/],
    ['no tokens', { generationConfig: { maxOutputTokens: 0 } }, /positive/],
    ['six stop sequences', { generationConfig: { stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] } }, /at most 5/],
    ['two ways to think', { generationConfig: { thinkingConfig: { thinkingLevel: 'low', thinkingBudget: 1 } } }, /only one/],
    ['a form without its type', { generationConfig: { responseSchema: { type: 'STRING' } } }, /mime type/],
    ['empty instructions', { systemInstruction: { parts: [] } }, /must have parts/],
    ['an unknown tool', { tools: [{ type: 'function' }] }, /Unknown name "type"/],
    ['a choice without functions', { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }, /without function_declarations/],
    ['parameters without properties', declaring({ type: 'OBJECT' }), /should be non-empty/],
    ['parameters in lowercase', declaring({ type: 'object', properties: { a: { type: 'STRING' } } }), /object is no type/],
    ['an unknown keyword', declaring(object({ a: { type: 'STRING', additionalProperties: false } })), /Unknown name "additionalProperties"/],
    ['a reference', declaring(object({ a: { $ref: '#/a' } })), /Unknown name "\$ref"/],
    ['a value of no type', declaring(object({ a: {} })), /must specify a type/],
    ['a list of nothing', declaring(object({ a: { type: 'ARRAY' } })), /items: missing field/],
    ['listed numbers', declaring(object({ a: { type: 'INTEGER', enum: [1] } })), /only allowed for STRING/],
    ['an empty word', declaring(object({ a: { type: 'STRING', enum: [''] } })), /non-empty strings/],
    ['an unknown format', declaring(object({ a: { type: 'STRING', format: 'uri' } })), /uri is not supported/],
    ['a required property that is none', declaring(object({ a: { type: 'STRING' } }, { required: ['b'] })), /not defined/],
    ['two functions of a name', { tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'a' }] }] }, /must be unique/],
  ])('refuses %s', (_, over, words) => {
    expect(check(hi, over).join('\n')).toMatch(words);
  }); // prettier-ignore

  it('refuses what is no object', () => {
    expect(validateGeminiRequest([])).toEqual(['The body must be a JSON object.']);
  });
});
