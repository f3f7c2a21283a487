/** Arguments and results as named fields in words, for the page and the terminal. */

import { isRecord } from './record.ts';
import { say } from './say.ts';

/** A value in a form that a reader can read. `none` is a value that says nothing, such as an empty list. */
export type ShownValue =
	| { readonly kind: 'text' | 'none'; readonly text: string }
	| { readonly kind: 'fields'; readonly fields: readonly ShownField[] }
	| { readonly kind: 'list'; readonly items: readonly ShownValue[] };

export interface ShownField {
	readonly label: string;
	/** The description in the schema. */
	readonly about?: string;
	readonly value: ShownValue;
}

/** Deeper values, and longer lists, are shown as JSON. */
const [deepest, longestList] = [6, 200];

/** Returns a name of a program in words: `apply_plan` and `applyPlan` become `Apply plan`. */
export function toWords(name: string): string {
	if (!/^[\w.-]+$/.test(name) || !/[a-z]/i.test(name)) return name;
	const words = name
		.replace(/([a-z\d])([A-Z])(?=[a-z])/g, (_, before, next) => `${before} ${next.toLowerCase()}`)
		.replace(/[_.-]+/g, ' ')
		.trim();
	return words.charAt(0).toUpperCase() + words.slice(1);
}

/** `schema` is the JSON Schema of the value, if it is known. Its titles and descriptions name the fields. */
export function describeValue(value: unknown, schema?: unknown, depth = 0): ShownValue {
	if (value === null || value === undefined) return { kind: 'none', text: say('none') };
	if (value === '') return { kind: 'none', text: say('empty') };
	if (typeof value === 'boolean') return { kind: 'text', text: say(value ? 'yes' : 'no') };
	if (typeof value !== 'object') return { kind: 'text', text: String(value) };
	const entries = Object.entries(value);
	if (entries.length === 0) return { kind: 'none', text: say('none') };
	if (depth >= deepest || entries.length > longestList)
		return { kind: 'text', text: JSON.stringify(value, undefined, 2) };
	const about = isRecord(schema) ? schema : {};
	if (Array.isArray(value))
		return { kind: 'list', items: value.map((item) => describeValue(item, about.items, depth + 1)) };
	const properties = isRecord(about.properties) ? about.properties : {};
	const fields = entries.map(([name, inner]): ShownField => {
		const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
		const { title, description } = isRecord(own) ? own : {};
		return {
			label: typeof title === 'string' && title !== '' ? title : toWords(name),
			...(typeof description === 'string' && { about: description }),
			value: describeValue(inner, own, depth + 1),
		};
	});
	return { kind: 'fields', fields };
}

/** Describes a value on one line, without quotes and brackets: `Oslo` for a single text, else `city: Oslo, days: 3`. */
export function describeBriefly(value: unknown): string {
	if (value === null || value === undefined || value === '') return '';
	if (typeof value !== 'object') return String(value);
	const entries = Object.entries(value).slice(0, 20);
	if (Array.isArray(value)) return entries.map(([, item]) => describeBriefly(item)).join(', ');
	const [first] = entries;
	if (first !== undefined && Object.keys(value).length === 1) return describeBriefly(first[1]);
	const parts = entries.map(([name, inner]) => [toWords(name).toLowerCase(), describeBriefly(inner)]);
	return parts.flatMap(([name, text]) => (text === '' ? [] : [`${name}: ${text}`])).join(', ');
}
