import { FunctionExpressionType, JSONPathEnvironment } from 'json-p3';
import * as v from 'valibot';
import { RunletError, toMessageText } from '../ground/errors.ts';
import { isRecord, isTooDeep, maxLevels } from '../ground/json.ts';
import { define } from '../tool/define.ts';
import type { Tool } from '../tool/index.ts';
import { compilePattern } from '../tool/pattern/pattern.ts';
import { checkWithSchema, toJsonSchema } from '../tool/schema.ts';
import { filePath, getWorkspace } from './files.ts';

/** Bytes of a file that is read. */
const largestFile = 8_388_608;
/** Reads of lists and records in one query. */
const mostReads = 500_000;
/** Matches that are given. */
const mostMatches = 1_000;
/** Characters of the matches together, as JSON. */
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

/** The models are told to give `json` as a text, because strict mode has no type for anything. Other JSON is taken too. */
const described = {
	'~standard': {
		version: 1,
		vendor: 'runlet',
		validate: async (value: unknown) => {
			const checked = await checkWithSchema(input, value);
			if ('issues' in checked) return { issues: checked.issues.map((message) => ({ message })) };
			// SAFETY: `input` has checked it.
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

/** Makes the tool `query_json`. */
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
				throw new RunletError('invalid_argument', 'path: give path or json, one of them.', { field: 'path' });
			if (path === undefined) return queryJson(typeof json === 'string' ? parse(json, 'json') : json, query);
			const workspace = getWorkspace(context);
			const info = await workspace.stat(path);
			if (info?.type === 'file' && info.size > largestFile)
				throw new RunletError(
					'invalid_argument',
					`path: ${path} has ${info.size} bytes, and at most ${largestFile} can be queried. Use search_files.`,
					{ field: 'path' },
				);
			return queryJson(parse(new TextDecoder().decode(await workspace.read(path)), 'path'), query);
		},
	});
}

function parse(text: string, field: string): unknown {
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new RunletError('invalid_argument', `${field}: not valid JSON (${toMessageText(error).slice(0, 200)}).`, {
			field,
		});
	}
}

/** The values that a JSONPath finds. `truncated` says that there are more. */
function queryJson(json: unknown, query: string): { result: unknown[]; truncated?: true } {
	if (isTooDeep(json))
		throw new RunletError('invalid_argument', `json: nested more than ${maxLevels} levels deep.`, { field: 'json' });
	const counted = countReads(json);
	const result: unknown[] = [];
	let characters = 0;
	try {
		// SAFETY: `counted` reads as the JSON that it stands for.
		for (const { value } of environment.lazyQuery(query, counted.value as string)) {
			const found = counted.unwrap(value);
			characters += JSON.stringify(found).length;
			if (result.length === mostMatches || characters > mostCharacters) return { result, truncated: true };
			result.push(found);
		}
		return { result };
	} catch (error) {
		if (error instanceof RunletError) throw error;
		throw new RunletError(
			'invalid_argument',
			`query: ${toMessageText(error)}. Write JSONPath, such as $.orders[*].id.`,
			{
				field: 'query',
			},
		);
	}
}

const environment = createEnvironment();

/** Its regular expressions are matched in linear time: a model writes them. */
function createEnvironment(): JSONPathEnvironment {
	const made = new JSONPathEnvironment({ maxRecursionDepth: maxLevels + 10 });
	const { ValueType, LogicalType } = FunctionExpressionType;
	const register = (name: string, toPattern: (pattern: string) => string): void => {
		const call = (text: unknown, pattern: unknown): boolean =>
			typeof text === 'string' && typeof pattern === 'string' && compilePattern(toPattern(pattern)).matches(text);
		made.functionRegister.set(name, { argTypes: [ValueType, ValueType], returnType: LogicalType, call });
	};
	register('match', (pattern) => `^(?:${pattern})$`);
	register('search', (pattern) => pattern);
	return made;
}

/** The same JSON, which throws once it was read too often: filters within filters read it again and again. */
function countReads(json: unknown) {
	const originals = new WeakMap<object, object>();
	const wrapped = new WeakMap<object, object>();
	let reads = 0;
	const wrap = (value: unknown): unknown => {
		if (typeof value !== 'object' || value === null) return value;
		const made = wrapped.get(value) ?? new Proxy(value, handler);
		wrapped.set(value, made);
		originals.set(made, value);
		return made;
	};
	const count = (): void => {
		if (++reads > mostReads)
			throw new RunletError(
				'invalid_argument',
				'query: takes too long on this JSON. Write a path with fewer .. and filters.',
				{ field: 'query' },
			);
	};
	const handler: ProxyHandler<object> = {
		get: (target, key) => {
			count();
			return wrap(Reflect.get(target, key));
		},
		getOwnPropertyDescriptor: (target, key) => {
			count();
			return Reflect.getOwnPropertyDescriptor(target, key);
		},
	};
	return {
		value: wrap(json),
		unwrap: (value: unknown): unknown =>
			typeof value === 'object' && value !== null ? (originals.get(value) ?? value) : value,
	};
}
