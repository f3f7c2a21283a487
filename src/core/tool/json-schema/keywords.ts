import { isRecord } from '../../base/json.ts';

/** A JSON Schema (2020-12), as plain data. */
export interface JsonSchema {
	readonly [keyword: string]: unknown;
}

/** Keywords that hold one schema. In `singleInPlace`, this schema checks the same value as the schema around it. */
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

type Holds = 'schema' | 'list' | 'map';

/** The keywords that hold schemas, and whether they hold one schema, a list or a map. Other keywords hold data. */
export const holders: ReadonlyMap<string, Holds> = new Map([
	...[...single, ...singleInPlace].map((keyword) => [keyword, 'schema'] as const),
	...[...lists, ...listsInPlace].map((keyword) => [keyword, 'list'] as const),
	...[...maps, ...mapsInPlace].map((keyword) => [keyword, 'map'] as const),
]);

const inPlace: ReadonlySet<string> = new Set([...singleInPlace, ...listsInPlace, ...mapsInPlace]);

/** A schema inside another schema: its path, and whether both schemas check the same value. */
interface Inner {
	readonly path: readonly string[];
	readonly schema: unknown;
	readonly isInPlace: boolean;
}

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

/** Returns a copy of the schema, with each direct inner schema changed. */
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

/** Finds the target of a `$ref` within the same schema: `#` or a JSON pointer. Else returns `undefined`. */
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

const converted = new WeakMap<JsonSchema, JsonSchema>();

/** Converts a JSON Schema of an older draft (04 to 07, 2019-09) to 2020-12, which providers accept. */
export function toCurrentDraft(schema: JsonSchema): JsonSchema {
	const known = converted.get(schema);
	if (known !== undefined) return known;
	const text = JSON.stringify(schema);
	const mapped = isRecord(schema.definitions) ? withMovedRefs(convert(schema)) : convert(schema);
	const result = JSON.stringify(mapped) === text ? schema : mapped;
	converted.set(schema, result);
	return result;
}

function convert(schema: JsonSchema): JsonSchema {
	const { $schema: _, ...given } = mapInner(withListedItems(schema), convert);
	return [withDefinitions, withDependencies, withOpenEnds].reduce((current, change) => change(current), given);
}

/** `items: […]` becomes `prefixItems`, and `additionalItems` becomes `items`. */
function withListedItems(schema: JsonSchema): JsonSchema {
	if (!Array.isArray(schema.items)) return schema;
	const { items, additionalItems, ...rest } = schema;
	return { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) };
}

/** `definitions` becomes `$defs`. */
function withDefinitions(schema: JsonSchema): JsonSchema {
	if (!isRecord(schema.definitions)) return schema;
	const { definitions, ...rest } = schema;
	return { ...rest, $defs: { ...definitions, ...(isRecord(rest.$defs) && rest.$defs) } };
}

/** `dependencies` becomes two keywords: one keyword for names, and one keyword for schemas. */
function withDependencies(schema: JsonSchema): JsonSchema {
	if (!isRecord(schema.dependencies)) return schema;
	const { dependencies, ...rest } = schema;
	const entries = Object.entries(dependencies);
	const names = entries.filter(([, value]) => Array.isArray(value));
	const schemas = entries.flatMap(([key, value]) =>
		Array.isArray(value) ? [] : [[key, isRecord(value) ? convert(value) : value]],
	);
	return {
		...rest,
		...(names.length > 0 && { dependentRequired: Object.fromEntries(names) }),
		...(schemas.length > 0 && { dependentSchemas: Object.fromEntries(schemas) }),
	};
}

/** `exclusiveMinimum: true` with `minimum` becomes a number, and so does `exclusiveMaximum: true` with `maximum`. */
function withOpenEnds(schema: JsonSchema): JsonSchema {
	return ['Minimum', 'Maximum'].reduce((current, name) => {
		const [open, closed] = [`exclusive${name}`, name.toLowerCase()];
		if (typeof current[open] !== 'boolean') return current;
		const { [open]: isOpen, [closed]: end, ...rest } = current;
		return { ...rest, ...(end !== undefined && { [isOpen === true ? open : closed]: end }) };
	}, schema);
}

function withMovedRefs(schema: JsonSchema): JsonSchema {
	const moved = mapInner(schema, withMovedRefs);
	const { $ref } = moved;
	if (typeof $ref !== 'string' || !$ref.startsWith('#/definitions/')) return moved;
	return { ...moved, $ref: `#/$defs/${$ref.slice('#/definitions/'.length)}` };
}
