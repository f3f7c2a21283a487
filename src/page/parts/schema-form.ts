/** Form fields for a JSON Schema, empty or with a value. A value that no field can show is edited as JSON. */

import { isRecord } from '../../client/record.ts';
import { say } from '../../client/say.ts';
import { element } from './element.ts';
import { createField, createMistake, createTextArea, createTextField, parseJson } from './form.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A form field, or a group of fields. */
export interface SchemaField {
	readonly node: HTMLElement;
	/** Returns the value, or undefined for an empty field. Throws an error that says how to fix an invalid value. */
	read(): unknown;
}

interface FieldOptions {
	readonly label: string;
	readonly isRequired: boolean;
	readonly value?: unknown;
	/** The number of nested objects that contain the field. */
	readonly depth: number;
}

/** The maximum number of characters for a one-line field. Longer texts, and texts of several lines, get a text area. */
const longestLine = 60;
/** The maximum depth of nested objects whose fields are shown separately. */
const deepest = 2;

export function createSchemaField(schema: unknown, label: string, value?: unknown): SchemaField {
	return createAny(isRecord(schema) ? schema : {}, { label, isRequired: true, value, depth: 0 });
}

function createAny(schema: Schema, options: FieldOptions): SchemaField {
	const field = createFitting(schema, options);
	return options.value === undefined || canHold(field, options.value) ? field : createJson(schema, options);
}

/** Whether a field returns exactly the value with which it was filled. */
function canHold(field: SchemaField, value: unknown): boolean {
	try {
		return isSame(field.read(), value);
	} catch {
		return false;
	}
}

function createFitting(schema: Schema, options: FieldOptions): SchemaField {
	const { type, enum: choices, properties, items } = schema;
	if (isPlainList(choices)) return createSelect(schema, choices, options);
	if (type === 'boolean') return createSelect(schema, [true, false], options);
	if (type === 'string' || type === 'number' || type === 'integer') return createLine(schema, type, options);
	if (type === 'object' && isRecord(properties) && options.depth < deepest)
		return createGroup(schema, properties, options);
	const kind = type === 'array' && isRecord(items) && items.enum === undefined ? items.type : undefined;
	if (kind === 'string' || kind === 'number' || kind === 'integer') return createList(schema, kind, options);
	return createJson(schema, options);
}

function createGroup(
	schema: Schema,
	properties: Schema,
	{ label, isRequired, value, depth }: FieldOptions,
): SchemaField {
	const required = Array.isArray(schema.required) ? schema.required : [];
	const fields = Object.entries(properties).map(([name, inner]) => {
		const own = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
		const options = { label: name, isRequired: isRequired && required.includes(name), value: own, depth: depth + 1 };
		return [name, createAny(isRecord(inner) ? inner : {}, options)] as const;
	});
	const node = element('fieldset', 'group', element('legend', '', label), ...fields.map(([, field]) => field.node));
	const read = () => {
		const entries = fields.map(([name, field]) => [name, field.read()]).filter(([, value]) => value !== undefined);
		return entries.length === 0 && !isRequired && value === undefined ? undefined : Object.fromEntries(entries);
	};
	return { node, read };
}

function createLine(
	schema: Schema,
	type: 'string' | 'number' | 'integer',
	{ label, isRequired, value }: FieldOptions,
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
	if (typeof schema.maxLength === 'number' && schema.maxLength >= 0) field.maxLength = schema.maxLength;
	const read = () => (field.value === '' ? undefined : type === 'string' ? field.value : Number(field.value));
	return { node: describe(schema, label, field), read };
}

function createSelect(
	schema: Schema,
	choices: readonly Plain[],
	{ label, isRequired, value }: FieldOptions,
): SchemaField {
	const field = element('select');
	const names = choices.map((choice) => (typeof choice === 'boolean' ? say(choice ? 'yes' : 'no') : `${choice}`));
	field.append(new Option('', ''), ...names.map((name, at) => new Option(name, `${at}`)));
	if (isPlain(value) && choices.includes(value)) field.value = `${choices.indexOf(value)}`;
	field.required = isRequired;
	return { node: describe(schema, label, field), read: () => choices[field.value === '' ? -1 : Number(field.value)] };
}

function createList(
	schema: Schema,
	kind: 'string' | 'number' | 'integer',
	{ label, isRequired, value }: FieldOptions,
): SchemaField {
	const begin = Array.isArray(value) ? value.join('\n') : '';
	const field = createTextArea(begin, Math.min(8, 2 + begin.split('\n').length));
	const read = () => {
		const lines = field.value.split('\n').filter((line) => line.trim() !== '');
		if (lines.length === 0 && !isRequired) return undefined;
		const values = lines.map((line) => (kind === 'string' ? line : Number(line)));
		if (values.some(Number.isNaN)) throw createMistake(say('{label}: write one number a line.', { label }));
		return values;
	};
	return { node: describe(schema, label, field, say('One a line.')), read };
}

function createJson(schema: Schema, { label, isRequired, value }: FieldOptions): SchemaField {
	const begin = JSON.stringify(value, undefined, 2) ?? '';
	const field = createTextArea(begin, Math.min(12, Math.max(4, begin.split('\n').length)));
	field.required = isRequired;
	const read = () => {
		if (field.value.trim() === '') return undefined;
		const parsed = parseJson(field.value);
		if (parsed !== undefined) return parsed;
		throw createMistake(say('{label}: write JSON, such as "a text", 3 or {"name": "Ada"}.', { label }));
	};
	return { node: describe(schema, label, field, 'JSON.'), read };
}

function describe({ description }: Schema, label: string, field: HTMLElement, hint = ''): HTMLElement {
	const about = typeof description === 'string' ? description : '';
	return createField(label, field, [about, hint].filter((text) => text !== '').join(' '));
}

type Plain = string | number | boolean;

const isPlain = (value: unknown): value is Plain => ['string', 'number', 'boolean'].includes(typeof value);

function isPlainList(value: unknown): value is Plain[] {
	return Array.isArray(value) && value.length > 0 && value.length <= 200 && value.every(isPlain);
}

/** Whether two values are the same JSON. The order of fields in an object does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
	if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => isSame(item, b[at]));
	if (!isRecord(a) || !isRecord(b)) return a === b;
	const names = Object.keys(a);
	return (
		names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
	);
}
