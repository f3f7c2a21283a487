import { format as formats } from '@cfworker/json-schema';
import { isRecord } from '../../base/json.ts';
import type { JsonSchema } from './keywords.ts';

/** Adds the work of a comparison. Throws if the total work is too high. */
type Spend = (work: number) => void;

export function equals(one: unknown, other: unknown, spend: Spend): boolean {
	spend(0.02);
	if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
	if (Array.isArray(one) || Array.isArray(other))
		return (
			Array.isArray(one) &&
			Array.isArray(other) &&
			one.length === other.length &&
			one.every((entry, index) => equals(entry, other[index], spend))
		);
	const entries = Object.entries(one);
	return (
		entries.length === Object.keys(other).length &&
		entries.every(([key, entry]) => Object.hasOwn(other, key) && equals(entry, Reflect.get(other, key), spend))
	);
}

/** Converts a value to a text. Equal values have the same text. */
export function toCanonicalText(value: unknown, spend: Spend): string {
	spend(1 + (typeof value === 'string' ? value.length / 500 : 0));
	if (Array.isArray(value)) return `[${value.map((entry) => toCanonicalText(entry, spend)).join()}]`;
	if (!isRecord(value)) return JSON.stringify(value) ?? 'null';
	const entries = Object.keys(value).sort();
	return `{${entries.map((key) => `${JSON.stringify(key)}:${toCanonicalText(value[key], spend)}`).join()}}`;
}

/** The formats that are checked. Each check takes time proportional to the length of the text. */
const checkedFormats: ReadonlySet<string> = new Set([
	...['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference'],
	...['uri-template', 'uuid', 'json-pointer', 'relative-json-pointer', 'regex'],
]);

/** Whether a text has a format. Returns true for a format that is not checked. */
export function fitsFormat(format: string, text: string): boolean {
	return !checkedFormats.has(format) || formats[format]?.(text) !== false;
}

export function isOfType(type: unknown, value: unknown): boolean {
	if (type === 'integer') return Number.isInteger(value);
	return type === getType(value);
}

export function getType(value: unknown): string {
	if (value === null) return 'null';
	return Array.isArray(value) ? 'array' : typeof value;
}

function isMultiple(value: number, of: number): boolean {
	const times = value / of;
	if (!Number.isFinite(times)) return Number.isInteger(value) && Number.isInteger(1 / of);
	return Math.abs(times - Math.round(times)) <= Number.EPSILON * Math.max(1, Math.abs(times));
}

export function countCharacters(text: string): number {
	let count = 0;
	for (const _ of text) count++;
	return count;
}

export function findNumberIssues(schema: JsonSchema, value: number): readonly string[] {
	const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
	const issues: string[] = [];
	if (value < Number(minimum ?? -Infinity)) issues.push(`expected at least ${minimum}`);
	if (value > Number(maximum ?? Infinity)) issues.push(`expected at most ${maximum}`);
	if (value <= Number(exclusiveMinimum ?? -Infinity)) issues.push(`expected more than ${exclusiveMinimum}`);
	if (value >= Number(exclusiveMaximum ?? Infinity)) issues.push(`expected less than ${exclusiveMaximum}`);
	if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf))
		issues.push(`expected a multiple of ${multipleOf}`);
	return issues;
}
