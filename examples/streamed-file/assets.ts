import { defineTool, type JsonObject, type Tool, type UserContent } from '@treadle/core';
import type { ImageStore } from './images.ts';

/** Keeps images that the user attached, so that the page can show them. Images count from 1, in the order they were sent. */
export const saveAssetsTool = (attached: () => readonly UserContent[], store: ImageStore): Tool =>
  defineTool({
    name: 'save_assets',
    description:
      'Saves images that the user attached and returns their URLs, to use in the page. Images count from 1, oldest first. ' +
      'Save logos and photographs; a screenshot of the page that is wanted is no asset.',
    inputSchema: {
      type: 'object',
      properties: {
        image_numbers: { type: 'array', minItems: 1, maxItems: 50, items: { type: 'integer', minimum: 1 } },
      },
      required: ['image_numbers'],
      additionalProperties: false,
    },
    execute: ({ image_numbers: numbers }) => {
      const images = attached().filter((block) => block.type === 'image');
      const assets = [...new Set(numbers)].map((number): JsonObject => {
        const image = images[number - 1];
        if (!image || !('data' in image) || typeof image.data !== 'string') {
          return {
            image: number,
            status: 'error',
            error: `There is no image ${number}: ${images.length} are attached.`,
          };
        }
        return { image: number, status: 'ok', url: store.keep(Buffer.from(image.data, 'base64'), image.mediaType) };
      });
      const isError = assets.every(({ status }) => status === 'error');
      return { content: JSON.stringify(assets), isError, details: { summary: { assets } } };
    },
  });
