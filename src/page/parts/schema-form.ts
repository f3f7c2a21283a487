/** Fields that a JSON Schema describes, empty or with a value. What no field can say is written as JSON. */

import { ClientError } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { element } from './element.ts';
import { createField, createTextArea, createTextField } from './form.ts';

/** One field, or a group of them. */
export interface SchemaField {
	readonly node: HTMLElement;
	/** Returns the value, or undefined if none was given. Throws an error that says how to fix it. */
	read(): unknown;
}

interface Wanted {
	readonly label: string;
	readonly isRequired: boolean;
	/** What the field begins with. */
	readonly value?: unknown;
	/** The number of objects around it. */
	readonly depth: number;
}

/** Characters of a text that fit its line. A longer one, or one of several lines, has an area. */
const longestLine = 60;

/** Objects in objects that have fields of their own. */
const deepest = 2;

export function createSchemaField(schema: unknown, label: string, value?: unknown): SchemaField {
	return createAny(isRecord(schema) ? schema : {}, { label, isRequired: true, value, depth: 0 });
}

function createAny(schema: Readonly<Record<string, unknown>>, wanted: Wanted): SchemaField {
	const field = createFitting(schema, wanted);
	return wanted.value === undefined || canSay(field, wanted.value) ? field : createJson(schema, wanted);
}

/** Whether a field returns the value that it was given. */
function canSay(field: SchemaField, value: unknown): boolean {
	try {
		return isSame(field.read(), value);
	} catch {
		return false;
	}
}

function createFitting(schema: Readonly<Record<string, unknown>>, wanted: Wanted): SchemaField {
	const { type, enum: choices, properties, items } = schema;
	if (isPlainList(choices)) return createSelect(schema, choices, wanted);
	if (type === 'boolean') return createSelect(schema, [true, false], wanted);
	if (type === 'string' || type === 'number' || type === 'integer') return createLine(schema, type, wanted);
	if (type === 'object' && isRecord(properties) && wanted.depth < deepest)
		return createGroup(schema, properties, wanted);
	const kind = type === 'array' && isRecord(items) && items.enum === undefined ? items.type : undefined;
	if (kind === 'string' || kind === 'number' || kind === 'integer') return createList(schema, kind, wanted);
	return createJson(schema, wanted);
}

function createGroup(
	schema: Readonly<Record<string, unknown>>,
	properties: Readonly<Record<string, unknown>>,
	{ label, isRequired, value, depth }: Wanted,
): SchemaField {
	const required = Array.isArray(schema.required) ? schema.required : [];
	const fields = Object.entries(properties).map(([name, inner]) => {
		const given = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
		const wanted = { label: name, isRequired: isRequired && required.includes(name), value: given, depth: depth + 1 };
		return [name, createAny(isRecord(inner) ? inner : {}, wanted)] as const;
	});
	const node = element('fieldset', 'group', element('legend', '', label), ...fields.map(([, field]) => field.node));
	const read = () => {
		const given = fields
			.map(([name, field]) => [name, field.read()] as const)
			.filter(([, value]) => value !== undefined);
		return given.length === 0 && !isRequired && value === undefined ? undefined : Object.fromEntries(given);
	};
	return { node, read };
}

function createLine(
	schema: Readonly<Record<string, unknown>>,
	type: 'string' | 'number' | 'integer',
	{ label, isRequired, value }: Wanted,
): SchemaField {
	const isText = typeof value === 'string' || typeof value === 'number';
	const begin = isText ? `${value}` : '';
	const isLong = type === 'string' && (begin.length > longestLine || begin.includes('\n'));
	const field = isLong ? createTextArea(begin, 4) : createTextField(begin);
	field.required = isRequired;
	if (field instanceof HTMLTextAreaElement) field.classList.add('prose-field');
	else if (type === 'string') field.type = schema.format === 'date' ? 'date' : 'text';
	else {
		field.type = 'number';
		field.step = type === 'integer' ? '1' : 'any';
		if (typeof schema.minimum === 'number') field.min = `${schema.minimum}`;
		if (typeof schema.maximum === 'number') field.max = `${schema.maximum}`;
	}
	if (typeof schema.maxLength === 'number') field.maxLength = schema.maxLength;
	const read = () => (field.value === '' ? undefined : type === 'string' ? field.value : Number(field.value));
	return { node: describe(schema, label, field), read };
}

function createSelect(
	schema: Readonly<Record<string, unknown>>,
	choices: readonly Plain[],
	{ label, isRequired, value }: Wanted,
): SchemaField {
	const field = element('select');
	const names = choices.map((choice) => (typeof choice === 'boolean' ? (choice ? 'yes' : 'no') : `${choice}`));
	field.append(new Option('', ''), ...names.map((name, at) => new Option(name, `${at}`)));
	if (isPlain(value) && choices.includes(value)) field.value = `${choices.indexOf(value)}`;
	field.required = isRequired;
	return { node: describe(schema, label, field), read: () => choices[field.value === '' ? -1 : Number(field.value)] };
}

function createList(
	schema: Readonly<Record<string, unknown>>,
	kind: 'string' | 'number' | 'integer',
	{ label, isRequired, value }: Wanted,
): SchemaField {
	const begin = Array.isArray(value) ? value.join('\n') : '';
	const field = createTextArea(begin, Math.min(8, 2 + begin.split('\n').length));
	const read = () => {
		const lines = field.value.split('\n').filter((line) => line.trim() !== '');
		if (lines.length === 0 && !isRequired) return undefined;
		const values = lines.map((line) => (kind === 'string' ? line : Number(line)));
		if (values.some(Number.isNaN)) throw createMistake(`${label}: write one number a line.`);
		return values;
	};
	return { node: describe(schema, label, field, 'One a line.'), read };
}

function createJson(schema: Readonly<Record<string, unknown>>, { label, isRequired, value }: Wanted): SchemaField {
	const begin = JSON.stringify(value, undefined, 2) ?? '';
	const field = createTextArea(begin, Math.min(12, Math.max(4, begin.split('\n').length)));
	field.required = isRequired;
	const read = () => {
		if (field.value.trim() === '') return undefined;
		try {
			const value: unknown = JSON.parse(field.value);
			return value;
		} catch {
			throw createMistake(`${label}: write JSON, such as "a text", 3 or {"name": "Ada"}.`);
		}
	};
	return { node: describe(schema, label, field, 'JSON.'), read };
}

function describe(
	{ description }: Readonly<Record<string, unknown>>,
	label: string,
	field: HTMLElement,
	hint = '',
): HTMLElement {
	const about = typeof description === 'string' ? description : '';
	return createField(label, field, [about, hint].filter((text) => text !== '').join(' '));
}

function createMistake(message: string): ClientError {
	return new ClientError('invalid_field', message, { status: 400 });
}

type Plain = string | number | boolean;

const isPlain = (one: unknown): one is Plain => ['string', 'number', 'boolean'].includes(typeof one);

function isPlainList(value: unknown): value is Plain[] {
	return Array.isArray(value) && value.length > 0 && value.length <= 200 && value.every(isPlain);
}

/** Whether two values are the same JSON. The order of fields does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
	if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, at) => isSame(one, b[at]));
	if (!isRecord(a) || !isRecord(b)) return a === b;
	const names = Object.keys(a);
	return (
		names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
	);
}
