import { JSONPathEnvironment } from 'json-p3';
import * as v from 'valibot';
import { createFieldError, RunletError, toMessageText } from '../base/errors.ts';
import { isRecord, isTooDeep, maxLevels } from '../base/json.ts';
import { type Steps, Work } from '../base/work.ts';
import { define } from '../tool/define.ts';
import type { Tool, ToolContext } from '../tool/index.ts';
import { checkWithSchema, toJsonSchema } from '../tool/schema.ts';
import { filePath, getWorkspace } from './files.ts';
import { findValues } from './json-path.ts';

/** The maximum size of a file in bytes. */
const largestFile = 4_194_304;
/** The maximum number of values in a JSON text. Limited, because parsing never pauses. Lists and objects count as 4. */
const [mostItems, perContainer] = [600_000, 4];
const mostMatches = 1_000;
/** The maximum length of all matches in characters of JSON. */
const mostCharacters = 200_000;

const input = v.object({
	path: v.optional(v.pipe(filePath, v.description('A JSON file of the workspace. Give path or json'))),
	json: v.optional(v.unknown()),
	query: v.pipe(
		v.string(),
		v.minLength(1),
		v.maxLength(2_000),
		v.description('JSONPath, such as $.orders[?@.total > 10].id'),
	),
});
type Input = v.InferOutput<typeof input>;

/** Models see `json` as a text, because strict mode cannot express arbitrary JSON. Other JSON is accepted too. */
const described = {
	'~standard': {
		version: 1,
		vendor: 'runlet',
		validate: async (value: unknown) => {
			const checked = await checkWithSchema(input, value);
			if ('issues' in checked) return { issues: checked.issues.map((message) => ({ message })) };
			// SAFETY: the schema `input` has checked the value.
			return { value: checked.value as Input };
		},
		types: undefined as { readonly input: Input; readonly output: Input } | undefined,
		jsonSchema: { input: describeInput, output: describeInput },
	},
} as const;

function describeInput(): Record<string, unknown> {
	const { properties, ...schema } = toJsonSchema(input, 'query_json');
	const json = { type: 'string', description: 'The JSON itself, as a text. Give path or json' };
	return { ...schema, properties: { ...(isRecord(properties) ? properties : {}), json } };
}

export function queryJsonTool(): Tool {
	return define({
		name: 'query_json',
		description:
			'Take values out of JSON by JSONPath (RFC 9535), from a file or from the JSON itself. Gives the list of matches.',
		inputSchema: described,
		passInput: true,
		retry: 'safe',
		onRequest: ({ path, query }) => ['Querying JSON', path === undefined ? query : `${path}: ${query}`],
		onResult: (_, { result }) => `${result.length} matches`,
		fn: async ({ path, json, query }, context) => {
			if ((path === undefined) === (json === undefined))
				throw createFieldError('invalid_argument', 'path', 'give path or json, one of them.');
			if (path === undefined) return queryJson(typeof json === 'string' ? parse(json, 'json') : json, query, context);
			const workspace = getWorkspace(context);
			const info = await workspace.stat(path);
			if (info?.type === 'file' && info.size > largestFile)
				throw createFieldError(
					'invalid_argument',
					'path',
					`${path} has ${info.size} bytes, and at most ${largestFile} can be queried. Use search_files.`,
				);
			return queryJson(parse(new TextDecoder().decode(await workspace.read(path)), 'path'), query, context);
		},
	});
}

function parse(text: string, field: string): unknown {
	const { items, levels } = measureJson(text);
	if (text.length > largestFile || items > mostItems)
		throw new RunletError(
			'too_large',
			`${field}: too much JSON to be queried at once. Use search_files, or a part of it.`,
			{
				field,
			},
		);
	if (levels > maxLevels)
		throw new RunletError('invalid_argument', `${field}: nested more than ${maxLevels} levels deep.`, { field });
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new RunletError('invalid_argument', `${field}: not valid JSON (${toMessageText(error).slice(0, 200)}).`, {
			field,
		});
	}
}

/** Counts the values and nested levels of a JSON text, without validating the text. */
function measureJson(text: string): { readonly items: number; readonly levels: number } {
	let [items, depth, levels] = [0, 0, 0];
	for (let at = 0; at < text.length; at++)
		switch (text.charCodeAt(at)) {
			case quote:
				// A string ends at the first quotation mark that is not escaped by a backslash.
				for (at++; at < text.length && text.charCodeAt(at) !== quote; at++) if (text.charCodeAt(at) === backslash) at++;
				break;
			case comma:
				items++;
				break;
			case openList:
			case openObject:
				items += perContainer;
				levels = Math.max(levels, ++depth);
				break;
			case closeList:
			case closeObject:
				depth--;
		}
	return { items, levels };
}

const [quote, comma, backslash, openList, closeList, openObject, closeObject] = [34, 44, 92, 91, 93, 123, 125] as const;

/** Returns the values that a JSONPath finds. `truncated` means that there are further values. */
async function queryJson(
	json: unknown,
	query: string,
	{ signal }: ToolContext,
): Promise<{ result: unknown[]; truncated?: true }> {
	if (isTooDeep(json)) throw createFieldError('invalid_argument', 'json', `nested more than ${maxLevels} levels deep.`);
	const remedy = 'Write a path with fewer .. and filters and a simpler pattern, or query a smaller file.';
	const work = new Work({ signal, field: 'query', remedy });
	try {
		return await work.do(collect(findValues(environment.compile(query), json, work), work));
	} catch (error) {
		if (error instanceof RunletError) throw error;
		signal.throwIfAborted();
		throw createFieldError(
			'invalid_argument',
			'query',
			`${toMessageText(error)}. Write JSONPath, such as $.orders[*].id.`,
		);
	}
}

function* collect(finding: ReturnType<typeof findValues>, work: Work): Steps<{ result: unknown[]; truncated?: true }> {
	const result: unknown[] = [];
	let characters = 0;
	for (const found of finding) {
		if (found === undefined) {
			yield;
			continue;
		}
		const { length } = JSON.stringify(found.value);
		characters += length;
		if (work.spend(length)) yield;
		if (result.length === mostMatches || characters > mostCharacters) return { result, truncated: true };
		result.push(found.value);
	}
	return { result };
}

const environment = new JSONPathEnvironment();
