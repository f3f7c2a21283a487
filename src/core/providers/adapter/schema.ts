import { isRecord } from '../../base/json.ts';
import type { JsonSchema } from '../../tool/index.ts';
import type { Json } from './json.ts';

/**
 * Whether a schema already follows OpenAI's strict mode: the root is an object, every object is closed, all properties
 * are required, and every keyword is known to the mode.
 */
export function isStrict(schema: JsonSchema): boolean {
	return schema.type === 'object' && schema.anyOf === undefined && isSupported(schema);
}

/** https://developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas". */
const known: ReadonlySet<string> = new Set([
	...['type', 'properties', 'required', 'additionalProperties', 'items', 'anyOf', 'enum', 'const', '$ref'],
	...['$defs', 'definitions', '$schema', 'title', 'description', 'pattern', 'format'],
	...['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems'],
]);

const formats = /^(date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/;

function isSupported(schema: unknown): boolean {
	if (!isRecord(schema) || !Object.keys(schema).every((key) => known.has(key))) return false;
	const { type, properties, required, additionalProperties, items, anyOf, format, $defs, definitions } = schema;
	if (format !== undefined && !(typeof format === 'string' && formats.test(format))) return false;
	if (type === 'array' && items === undefined) return false;
	const fields = readFields(properties);
	if (type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined) {
		if (additionalProperties !== false || !Array.isArray(required)) return false;
		if (!Object.keys(fields).every((name) => required.includes(name))) return false;
	}
	const inner = [fields, readFields($defs), readFields(definitions)].flatMap((group) => Object.values(group));
	if (items !== undefined) inner.push(items);
	return [...inner, ...(Array.isArray(anyOf) ? anyOf : [])].every(isSupported);
}

function readFields(value: unknown): Json {
	return isRecord(value) ? value : {};
}
