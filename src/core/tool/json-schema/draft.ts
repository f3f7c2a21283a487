import { isRecord } from '../../ground/json.ts';
import { type JsonSchema, mapInner } from './keywords.ts';

const converted = new WeakMap<JsonSchema, JsonSchema>();

/**
 * Converts a JSON Schema of an older draft (04 to 07, 2019-09) to 2020-12, which providers take. Returns a schema that
 * is already in 2020-12 unchanged.
 */
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

/** `dependencies` becomes two keywords: one for names, one for schemas. */
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

/** `exclusiveMinimum: true` with `minimum` becomes a number. The same for the maximum. */
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
