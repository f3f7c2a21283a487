import { html } from 'hono/html';
import { isRecord } from '../../core/base/json.ts';
import type { JsonSchema } from './json-schema.ts';

type Html = ReturnType<typeof html>;

const named = '#/components/schemas/';

export function typeHtml(schema: JsonSchema): Html {
	const { $ref, anyOf, oneOf, allOf, items, type, enum: values, const: value, format, additionalProperties } = schema;
	if (typeof $ref === 'string') return linkTo($ref.slice(named.length));
	for (const [list, word] of [
		[anyOf, ' or '],
		[oneOf, ' or '],
		[allOf, ' and '],
	] as const)
		if (isSchemas(list)) return joinHtml(list.map(typeHtml), word);
	if (value !== undefined) return html`<code>${JSON.stringify(value)}</code>`;
	if (Array.isArray(values))
		return joinHtml(
			values.map((one) => html`<code>${JSON.stringify(one)}</code>`),
			' or ',
		);
	if (isSchema(items)) return html`list of ${typeHtml(items)}`;
	if (type === 'object' && isSchema(additionalProperties)) return html`object of ${typeHtml(additionalProperties)}`;
	if (typeof format === 'string') return html`${format}`;
	return html`${typeof type === 'string' ? type : 'any JSON'}`;
}

/** Returns the fields of an object schema, or of each object of a union. Empty for other schemas. */
export function fieldsHtml(schema: JsonSchema): Html {
	const { properties, required, anyOf, oneOf, allOf, items } = schema;
	for (const list of [anyOf, oneOf, allOf]) {
		if (isSchemas(list) && list.some(hasFields)) return html`${list.filter(hasFields).map(fieldsHtml)}`;
	}
	if (isSchema(items)) return fieldsHtml(items);
	if (!isSchema(properties) || Object.keys(properties).length === 0) return html``;
	const needed = new Set(Array.isArray(required) ? required : []);
	return html`<dl class="fields">${Object.entries(properties).map(([name, field]) => {
		if (!isSchema(field)) return html``;
		const { description } = field;
		return html`<div>
			<dt><code>${name}</code>${needed.has(name) ? html`` : html`<span class="optional">optional</span>`}<span class="type">${typeHtml(field)}</span></dt>
			<dd>${typeof description === 'string' ? html`<p>${renderProse(description)}</p>` : html``}${fieldsHtml(field)}</dd>
		</div>`;
	})}</dl>`;
}

/** Converts a sentence of Markdown to HTML. Supports only inline code. */
export function renderProse(text: string): Html {
	return html`${text.split('`').map((piece, at) => (at % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`))}`;
}

function linkTo(name: string): Html {
	return html`<a href="#schema-${name}">${name}</a>`;
}

function joinHtml(pieces: readonly Html[], word: string): Html {
	return html`${pieces.map((piece, at) => html`${at > 0 ? word : ''}${piece}`)}`;
}

function hasFields({ properties, anyOf, oneOf, allOf }: JsonSchema): boolean {
	return isSchema(properties) || [anyOf, oneOf, allOf].some((list) => isSchemas(list) && list.some(hasFields));
}

function isSchema(value: unknown): value is JsonSchema {
	return isRecord(value);
}

function isSchemas(value: unknown): value is readonly JsonSchema[] {
	return Array.isArray(value) && value.every(isSchema);
}
