import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { components } from './components.ts';

/** A JSON Schema (2020-12), as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * A schema as the document has it. A rule that JSON Schema has no word for is left out, so the document is never
 * stricter than the check.
 */
export function toDocumentSchema(schema: v.GenericSchema): JsonSchema {
	const name = names.get(schema);
	return name === undefined ? { ...convert(schema) } : { $ref: refTo(name) };
}

/** The schemas that have names. */
export function toNamedSchemas(): Readonly<Record<string, JsonSchema>> {
	const converted = Object.entries(toJsonSchemaDefs(components, settings));
	return Object.fromEntries(converted.map(([name, json]) => [name, { ...json }]));
}

const names = new Map(Object.entries(components).map(([name, schema]) => [schema, name]));

const refTo = (name: string) => `#/components/schemas/${name}`;

/** Converts every schema with a name on its way, so one that has a name itself is better referred to. */
function convert(schema: v.GenericSchema) {
	const { $schema: _, $defs: __, ...json } = toJsonSchema(schema, { ...settings, definitions: components });
	return json;
}

const settings: ConversionConfig = {
	target: 'draft-2020-12',
	// What it cannot convert is a check of ours, and stays one.
	errorMode: 'ignore',
	overrideRef: ({ referenceId }) => refTo(referenceId),
	overrideAction: ({ valibotAction: action, jsonSchema }) => {
		const { pattern: _, ...rest } = jsonSchema;
		// A query has texts only; one that is read as a number is described as one.
		if ('operation' in action && action.operation === Number) return { ...rest, type: 'integer' };
		const flags = 'requirement' in action && action.requirement instanceof RegExp ? action.requirement.flags : '';
		return /[^u]/.test(flags) ? rest : undefined;
	},
	overrideSchema: ({ valibotSchema, jsonSchema }) => {
		if ('default' in jsonSchema) return withoutDefault(jsonSchema);
		if (!('options' in valibotSchema && valibotSchema.type === 'lazy' && Array.isArray(valibotSchema.options)))
			return undefined;
		return { anyOf: valibotSchema.options.map(convert) };
	},
};

/** A default is said in words: as a keyword it makes generators of clients take the field for a required one. */
function withoutDefault({ default: value, ...schema }: ReturnType<typeof convert>) {
	if (value === null || typeof value === 'object') return schema;
	const words = `Default: ${String(value)}.`;
	return { ...schema, description: schema.description === undefined ? words : `${schema.description} ${words}` };
}
