import * as v from 'valibot';
import { shortText } from './limits.ts';

/** Methods of requests that a tool may make. */
const toolMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The most milliseconds of a request. The time limit of a tool is no longer by default. */
const longestMs = 120_000;
/** The most bytes of an answer. */
const largestResponse = 1_000_000;

const whole = (most: number) => {
	const message = `must be a whole number from 1 to ${most}`;
	return v.pipe(v.number(message), v.integer(message), v.minValue(1, message), v.maxValue(most, message));
};

/** The name of a secret, as `${NAME}` in a header has it. */
export const secretName = v.pipe(
	v.string(),
	v.regex(/^[A-Za-z_]\w{0,63}$/, 'a name has letters, digits and underscores, 64 at most'),
);

/** The value of a secret. No message repeats it. To remove shorter values from answers would damage the answers. */
export const secretValue = v.pipe(
	v.string('must be a text'),
	v.regex(/^[\x21-\x7e]{4,4096}$/, 'must be 4 to 4,096 visible ASCII characters without spaces'),
);

/** The name of a tool, as every provider takes it. */
export const toolName = /^[\w-]{1,64}$/;

const fields = {
	description: v.pipe(
		shortText(2_000),
		v.nonEmpty('must say when to call the tool'),
		v.description('Tells the model what the tool does, and when to call it.'),
	),
	inputSchema: v.pipe(
		v.record(v.string(), v.unknown()),
		v.description('JSON Schema of an object: the input that the model gives.'),
	),
	url: v.pipe(
		shortText(2_000),
		v.description('An https URL. {field} in its path or query is the value of that field, percent-encoded.'),
	),
	method: v.pipe(v.picklist(toolMethods, `must be one of ${toolMethods.join(', ')}`)),
	headers: v.pipe(
		v.record(v.string(), v.string('must be a text')),
		v.description(`Headers of the request. \${NAME} in a value is the secret of that name.`),
	),
	timeoutMs: v.pipe(whole(longestMs), v.description('How long the request may take, in milliseconds.')),
	maxResponseBytes: v.pipe(whole(largestResponse), v.description('The most bytes of the answer.')),
};

/** The values of fields that a definition leaves out. */
const toolDefaults = { method: 'GET', headers: {}, timeoutMs: 30_000, maxResponseBytes: 100_000 } as const;

/** The definition of a tool as its owner gives it. */
export const toolBody = v.strictObject({
	description: fields.description,
	inputSchema: fields.inputSchema,
	url: fields.url,
	method: v.optional(fields.method, toolDefaults.method),
	headers: v.optional(fields.headers, toolDefaults.headers),
	secrets: v.optional(
		v.pipe(
			v.record(secretName, secretValue),
			v.description(
				'The secrets by their names. No answer shows one. A secret that is left out is kept as long as the URL stays the same and a header names it.',
			),
		),
	),
	timeoutMs: v.optional(fields.timeoutMs, toolDefaults.timeoutMs),
	maxResponseBytes: v.optional(fields.maxResponseBytes, toolDefaults.maxResponseBytes),
});

/** The definition of a tool as it is stored: without its secrets. */
export const storedTool = v.object({ ...fields, secretNames: v.array(v.string()) });

/** A tool as answers show it. */
export const shownTool = v.object({
	name: v.string(),
	...storedTool.entries,
	secretNames: v.pipe(v.array(v.string()), v.description('The names of its secrets.')),
	createdAt: v.string(),
	updatedAt: v.string(),
});

export const toolList = v.object({ tools: v.array(shownTool) });
