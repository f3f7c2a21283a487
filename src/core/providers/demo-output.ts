import { isRecord } from '../base/json.ts';
import { anyObjectWords } from '../chat/requirements.ts';
import type { JsonSchema } from '../tool/index.ts';
import { findReferred } from '../tool/json-schema/keywords.ts';
import { getProperties } from '../tool/schema.ts';

/** The maximum numbers of levels, values and fields of a sample, because a schema may be circular. */
const deepest = 12;
const mostValues = 1_000;
const mostFields = 100;

/** Writes the demo model's text in the form of the schema, if there is a schema. */
export function toForm(text: string, schema: JsonSchema | undefined, system: string | undefined): string {
	if (schema !== undefined)
		return JSON.stringify(sample(schema, { text, root: schema, level: 0, count: { values: 0 } }));
	return system?.includes(anyObjectWords) ? JSON.stringify({ answer: text }) : text;
}

interface SampleContext {
	readonly text: string;
	readonly root: JsonSchema;
	readonly level: number;
	readonly count: { values: number };
}

function sample(schema: unknown, context: SampleContext): unknown {
	const { text, root, level, count } = context;
	if (!isRecord(schema) || level > deepest || count.values++ > mostValues) return null;
	const within = { ...context, level: level + 1 };
	if (typeof schema.$ref === 'string') return sample(findReferred(schema.$ref, root), within);
	if ('const' in schema) return schema.const;
	if (Array.isArray(schema.enum)) return schema.enum[0];
	const [choice] = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (Array.isArray(list) ? list : []));
	if (choice !== undefined) return sample(choice, within);
	const types = Array.isArray(schema.type) ? schema.type : [schema.type];
	switch (types.find((type) => type !== 'null')) {
		case 'string':
			return sampleText(schema, text);
		case 'integer':
			return Math.round(sampleNumber(schema, text));
		case 'number':
			return sampleNumber(schema, text);
		case 'boolean':
			return false;
		case 'array': {
			const length = Math.min(typeof schema.minItems === 'number' ? schema.minItems : 1, 10);
			return Array.from({ length }, () => sample(schema.items, within));
		}
		case 'object':
			return Object.fromEntries(
				Object.entries(getProperties(schema))
					.slice(0, mostFields)
					.map(([name, property]) => [name, sample(property, within)]),
			);
		default:
			return null;
	}
}

const formats: Readonly<Record<string, string>> = {
	date: '2026-01-01',
	time: '12:00:00Z',
	'date-time': '2026-01-01T12:00:00Z',
	email: 'demo@example.com',
	uri: 'https://example.com',
	uuid: '00000000-0000-4000-8000-000000000000',
};

function sampleText({ format, maxLength }: JsonSchema, text: string): string {
	if (typeof format === 'string' && Object.hasOwn(formats, format)) return formats[format] ?? '';
	return typeof maxLength === 'number' ? text.slice(0, maxLength) : text;
}

/** Returns the last number of the text, such as the result of a sum. The schema's bounds limit the number. */
function sampleNumber({ minimum, maximum }: JsonSchema, text: string): number {
	const numbers = text.slice(-200).match(/-?\d{1,15}(?:\.\d{1,15})?/g);
	const found = Number(numbers?.at(-1) ?? 0);
	const least = typeof minimum === 'number' ? Math.max(minimum, found) : found;
	return typeof maximum === 'number' ? Math.min(maximum, least) : least;
}
