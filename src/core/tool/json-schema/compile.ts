import { isRecord, isTooDeep, maxLevels } from '../../base/json.ts';
import { compilePattern, type Pattern } from '../pattern/pattern.ts';
import { findReferred, holders, innerSchemas, type JsonSchema } from './keywords.ts';

export interface Compiled {
	readonly root: JsonSchema;
	readonly patterns: ReadonlyMap<string, Pattern>;
	/** For each schema with a `$ref`, the target of the `$ref`. */
	readonly references: ReadonlyMap<JsonSchema, JsonSchema | boolean>;
	/** Whether the schema uses `unevaluatedProperties` or `unevaluatedItems`. */
	readonly tracks: boolean;
	readonly size: SchemaLimits;
}

/** The size of a schema, or the limits of its size. */
export interface SchemaLimits {
	/** The number of characters of the schema as JSON. */
	readonly length: number;
	/** The number of schemas within the schema. */
	readonly schemas: number;
	/** The number of characters in all patterns together. */
	readonly patterns: number;
}

const defaultLimits: SchemaLimits = { length: 2_000_000, schemas: 50_000, patterns: 200_000 };

/** The maximum number of schemas that check one value, including referenced schemas, which can multiply endlessly. */
const maxInPlace = 5_000;

/** The maximum depth of references and choices that are nested at the same value. */
const maxChain = 100;

/** The reason why a schema cannot be used. It begins with the place in the schema. */
class SchemaError extends Error {
	constructor(path: readonly string[], why: string) {
		super(`${[...path, ''].join('.').slice(0, 200).replace(/\.$/, '')}${path.length === 0 ? '' : ': '}${why}`);
	}
}

/**
 * Compiles a JSON Schema (2020-12), so that each check takes a limited time. Throws a `SchemaError` if the schema is
 * too large or malformed, if a `pattern` cannot be matched, if a `$ref` has no target in the schema, or if `$ref`s for
 * the same value form a circle.
 */
export function compileSchema(root: JsonSchema, limits: SchemaLimits = defaultLimits): Compiled {
	const { length, schemas } = limits;
	assertNotTooDeep(root);
	const text = JSON.stringify(root);
	if (text.length > length) throw new SchemaError([], `larger than ${length} characters`);
	const patterns = new Map<string, Pattern>();
	const references = new Map<JsonSchema, JsonSchema | boolean>();
	/** Each schema, with its inner schemas that check the same value. */
	const known = new Map<JsonSchema, readonly unknown[]>();
	let tracks = false;
	let patternLength = 0;
	const open: (readonly [path: readonly string[], schema: unknown])[] = [[[], root]];
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		const [path, schema] = next;
		if (typeof schema === 'boolean') continue;
		if (!isRecord(schema)) throw new SchemaError(path, 'expected a schema: an object, true or false');
		if (known.has(schema)) continue;
		const within = innerSchemas(schema);
		known.set(
			schema,
			within.flatMap((inner) => (inner.isInPlace ? [inner.schema] : [])),
		);
		if (known.size > schemas) throw new SchemaError([], `more than ${schemas} schemas within it`);
		assertForms(schema, path);
		tracks ||= 'unevaluatedProperties' in schema || 'unevaluatedItems' in schema;
		patternLength += readPatterns(schema, path, patterns);
		if (patternLength > limits.patterns)
			throw new SchemaError([], `its patterns are longer than ${limits.patterns} characters together`);
		const target = readReference(schema, path, root);
		if (target !== undefined) references.set(schema, target);
		if (target !== undefined) open.push([[...path, '$ref'], target]);
		for (const inner of within) open.push([[...path, ...inner.path], inner.schema]);
	}
	assertFinite(root, known, references);
	return {
		root,
		patterns,
		references,
		tracks,
		size: { length: text.length, schemas: known.size, patterns: patternLength },
	};
}

/** Throws a `SchemaError` if a schema is nested too deep to walk through. */
export function assertNotTooDeep(schema: JsonSchema): void {
	if (isTooDeep(schema)) throw new SchemaError([], `nested more than ${maxLevels} levels deep`);
}

function readPatterns(schema: JsonSchema, path: readonly string[], patterns: Map<string, Pattern>): number {
	const { pattern } = schema;
	if (pattern !== undefined && typeof pattern !== 'string')
		throw new SchemaError([...path, 'pattern'], 'expected a text');
	const own = pattern === undefined ? [] : [['pattern', pattern] as const];
	const names = Object.keys(isRecord(schema.patternProperties) ? schema.patternProperties : {});
	let length = 0;
	for (const [keyword, source] of [...own, ...names.map((name) => ['patternProperties', name] as const)]) {
		if (patterns.has(source)) continue;
		length += source.length;
		try {
			patterns.set(source, compilePattern(source));
		} catch (error) {
			const why = error instanceof Error ? error.message : 'unreadable';
			const said = /^[a-z]/.test(why) ? why : `is not valid (${why.slice(0, 200)})`;
			throw new SchemaError([...path, keyword], `this pattern ${said}`);
		}
	}
	return length;
}

function readReference(
	schema: JsonSchema,
	path: readonly string[],
	root: JsonSchema,
): JsonSchema | boolean | undefined {
	const { $ref } = schema;
	if ($ref === undefined) return undefined;
	const at = [...path, '$ref'];
	if (typeof $ref !== 'string') throw new SchemaError(at, 'expected a text');
	const shown = JSON.stringify($ref.slice(0, 100));
	if (!$ref.startsWith('#')) throw new SchemaError(at, `${shown} leads out of the schema: put it under $defs`);
	const target = findReferred($ref, root);
	if (isRecord(target) || typeof target === 'boolean') return target;
	throw new SchemaError(at, `${shown} is nowhere in the schema`);
}

/** Throws if a schema would check the same value endlessly, or if too many schemas would check the same value. */
function assertFinite(
	root: JsonSchema,
	known: ReadonlyMap<JsonSchema, readonly unknown[]>,
	references: ReadonlyMap<JsonSchema, JsonSchema | boolean>,
): void {
	const sizes = new Map<JsonSchema, { readonly count: number; readonly depth: number }>();
	const measure = (
		schema: unknown,
		path: readonly JsonSchema[],
	): { readonly count: number; readonly depth: number } => {
		if (!isRecord(schema)) return { count: 1, depth: 1 };
		const before = sizes.get(schema);
		if (before !== undefined) return before;
		if (path.includes(schema)) throw new SchemaError([], 'a $ref leads in a circle');
		if (path.length > maxChain) throw tooLong();
		const inner = [...(known.get(schema) ?? []), references.get(schema)].map((one) => measure(one, [...path, schema]));
		const count = inner.reduce((sum, one) => sum + one.count, 1);
		const depth = inner.reduce((most, one) => Math.max(most, one.depth + 1), 1);
		if (count > maxInPlace) throw new SchemaError([], 'its references and choices multiply: use fewer of them');
		if (depth > maxChain) throw tooLong();
		const size = { count, depth };
		sizes.set(schema, size);
		return size;
	};
	for (const schema of [root, ...known.keys()]) measure(schema, []);
}

function tooLong(): SchemaError {
	return new SchemaError([], `more than ${maxChain} references and choices within each other`);
}

const types = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];
const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isType = (value: unknown): boolean => [value].flat().every((one) => isText(one) && types.includes(one));

/** How the value of a keyword is checked, and a description of the expected value. */
type Form = readonly [isOne: (value: unknown) => boolean, expected: string];

const number: Form = [(value) => typeof value === 'number', 'a number'];

/** The expected values of the keywords that hold no schemas. Other keywords are not checked here. */
const forms: ReadonlyMap<string, Form> = new Map<string, Form>([
	['type', [isType, `one of ${types.join(', ')}, or a list of them`]],
	['enum', [Array.isArray, 'a list']],
	['required', [isTexts, 'a list of names']],
	['dependentRequired', [(value) => isRecord(value) && Object.values(value).every(isTexts), 'lists of names by name']],
	['format', [isText, 'a text']],
	['uniqueItems', [(value) => typeof value === 'boolean', 'true or false']],
	...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'].map(
		(keyword) => [keyword, number] as const,
	),
	...['minItems', 'maxItems', 'minContains', 'maxContains', 'minProperties', 'maxProperties'].map(
		(keyword) => [keyword, number] as const,
	),
]);

function assertForms(schema: JsonSchema, path: readonly string[]): void {
	for (const [keyword, value] of Object.entries(schema)) {
		const form = forms.get(keyword);
		if (form !== undefined && !form[0](value)) throw new SchemaError([...path, keyword], `expected ${form[1]}`);
		const holds = holders.get(keyword);
		if (holds === 'list' && !Array.isArray(value))
			throw new SchemaError([...path, keyword], 'expected a list of schemas');
		if (holds === 'map' && !isRecord(value)) throw new SchemaError([...path, keyword], 'expected schemas by name');
	}
}
