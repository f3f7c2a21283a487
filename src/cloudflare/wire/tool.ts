import * as v from 'valibot';
import { described } from './field.ts';
import { shortText } from './limits.ts';

const toolMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The default time limit of a tool, in milliseconds. */
export const longestMs = 120_000;
/** The maximum number of bytes of an answer. */
const largestResponse = 1_000_000;

export const whole = (most: number) => {
	const message = `must be a whole number from 1 to ${most}`;
	return v.pipe(v.number(message), v.integer(message), v.minValue(1, message), v.maxValue(most, message));
};

/** The name of a secret. A header refers to the secret as `${NAME}`. */
export const secretName = v.pipe(
	v.string(),
	v.regex(/^[A-Za-z_]\w{0,63}$/, 'a name has letters, digits and underscores, 64 at most'),
);

/** No error message contains the secret. A shorter secret could not be removed from answers without damage. */
export const secretValue = v.pipe(
	v.string('must be a text'),
	v.regex(/^[\x21-\x7e]{4,4096}$/, 'must be 4 to 4,096 visible ASCII characters without spaces'),
);

/** The form of a tool's name, which every provider accepts. */
export const toolName = /^[\w-]{1,64}$/;

const fields = {
	description: v.pipe(
		shortText(2_000),
		v.nonEmpty('must say when to call the tool'),
		v.description('Tells the model what the tool does, and when to call it.'),
	),
	inputSchema: described(
		v.record(v.string(), v.unknown()),
		'JSON Schema of an object: the input that the model gives.',
	),
	url: described(
		shortText(2_000),
		'An https URL. {field} in its path or query is the value of that field, percent-encoded.',
	),
	method: v.pipe(v.picklist(toolMethods, `must be one of ${toolMethods.join(', ')}`)),
	headers: described(
		v.record(v.string(), v.string('must be a text')),
		`Headers of the request. \${NAME} in a value is the secret of that name.`,
	),
	timeoutMs: described(whole(longestMs), 'How long the request may take, in milliseconds.'),
	maxResponseBytes: described(whole(largestResponse), 'The most bytes of the answer.'),
};

const toolDefaults = { method: 'GET', headers: {}, timeoutMs: 30_000, maxResponseBytes: 100_000 } as const;

export const toolBody = v.strictObject({
	description: fields.description,
	inputSchema: fields.inputSchema,
	url: fields.url,
	method: v.optional(fields.method, toolDefaults.method),
	headers: v.optional(fields.headers, toolDefaults.headers),
	secrets: v.optional(
		described(
			v.record(secretName, secretValue),
			'The secrets by their names. No answer shows one. A secret that is left out is kept as long as the URL stays the same and a header names it.',
		),
	),
	timeoutMs: v.optional(fields.timeoutMs, toolDefaults.timeoutMs),
	maxResponseBytes: v.optional(fields.maxResponseBytes, toolDefaults.maxResponseBytes),
});

/** A tool without its secrets. */
export const storedTool = v.object({ ...fields, secretNames: v.array(v.string()) });

export const shownTool = v.object({
	name: v.string(),
	...storedTool.entries,
	secretNames: described(v.array(v.string()), 'The names of its secrets.'),
	createdAt: v.string(),
	updatedAt: v.string(),
});

export const toolList = v.object({ tools: v.array(shownTool) });
