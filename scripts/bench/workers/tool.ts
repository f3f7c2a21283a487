import * as v from 'valibot';
import { tool } from '../../../src/core/index.ts';

/** The tool of the loop by hand, for Runlet. */
export const look = tool.define({
	name: 'look',
	description: 'Looks at a place.',
	inputSchema: v.object({ at: v.number() }),
	passInput: true,
	retry: 'safe',
	fn: (input) => `seen ${JSON.stringify(input)}`,
});

/** The model of the bench, with the name of a model that has a price. */
export const model = 'claude-sonnet-4-6';
