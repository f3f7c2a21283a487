/** A JSON Schema (2020-12), as plain data. */
export interface JsonSchema {
	readonly [keyword: string]: unknown;
}

/** Keywords that hold one schema; those of `inPlace` look at the same value. */
const single = [
	'items',
	'contains',
	'additionalProperties',
	'propertyNames',
	'unevaluatedItems',
	'unevaluatedProperties',
];
const singleInPlace = ['not', 'if', 'then', 'else'];

/** Keywords that hold a list of schemas. */
const lists = ['prefixItems'];
const listsInPlace = ['allOf', 'anyOf', 'oneOf'];

/** Keywords that hold schemas by name. */
const maps = ['properties', 'patternProperties', '$defs', 'definitions'];
const mapsInPlace = ['dependentSchemas'];

export type Holds = 'schema' | 'list' | 'map';

/** The keywords that hold schemas, and in which form. All other keywords hold data, which is never read as a schema. */
export const holders: ReadonlyMap<string, Holds> = new Map([
	...[...single, ...singleInPlace].map((keyword) => [keyword, 'schema'] as const),
	...[...lists, ...listsInPlace].map((keyword) => [keyword, 'list'] as const),
	...[...maps, ...mapsInPlace].map((keyword) => [keyword, 'map'] as const),
]);

const inPlace: ReadonlySet<string> = new Set([...singleInPlace, ...listsInPlace, ...mapsInPlace]);

/** A schema inside another: its place, and whether it checks the same value. */
export interface Inner {
	readonly path: readonly string[];
	readonly schema: unknown;
	readonly isInPlace: boolean;
}

/** Lists the schemas directly inside a schema. */
export function innerSchemas(schema: JsonSchema): Inner[] {
	return Object.entries(schema).flatMap(([keyword, value]) => {
		const isInPlace = inPlace.has(keyword);
		return listInner(holders.get(keyword), value).map(([name, inner]) => ({
			path: name === '' ? [keyword] : [keyword, name],
			schema: inner,
			isInPlace,
		}));
	});
}

function listInner(holds: Holds | undefined, value: unknown): (readonly [name: string, schema: unknown])[] {
	if (holds === 'schema') return [['', value]];
	if (holds === 'list' && Array.isArray(value)) return value.map((one, index) => [String(index), one]);
	return holds === 'map' && isRecord(value) ? Object.entries(value) : [];
}

/** Returns the schema with each direct inner schema changed. */
export function mapInner(schema: JsonSchema, change: (inner: JsonSchema, keyword: string) => unknown): JsonSchema {
	const update = (keyword: string) => (value: unknown) => (isRecord(value) ? change(value, keyword) : value);
	return Object.fromEntries(
		Object.entries(schema).map(([keyword, value]) => {
			const holds = holders.get(keyword);
			if (holds === 'list' && Array.isArray(value)) return [keyword, value.map(update(keyword))];
			if (holds === 'map' && isRecord(value))
				return [keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, update(keyword)(one)]))];
			return [keyword, holds === 'schema' ? update(keyword)(value) : value];
		}),
	);
}

/** Finds the target of a `$ref` into the same schema: `#` or a JSON pointer. Returns `undefined` for any other. */
export function findReferred(ref: string, root: JsonSchema): unknown {
	if (ref === '#') return root;
	if (!ref.startsWith('#/')) return undefined;
	return ref
		.slice(2)
		.split('/')
		.map((segment) => decode(segment).replaceAll('~1', '/').replaceAll('~0', '~'))
		.reduce<unknown>(
			(node, key) =>
				(isRecord(node) || Array.isArray(node)) && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined,
			root,
		);
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

import { isRecord } from '../../ground/json.ts';
