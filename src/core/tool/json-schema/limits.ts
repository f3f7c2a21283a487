import { RunletError, toMessageText } from '../../base/errors.ts';
import { truncateText } from '../../base/text.ts';
import { assertNotTooDeep, compileSchema, type SchemaLimits } from './compile.ts';
import { type JsonSchema, mapInner, toCurrentDraft } from './keywords.ts';

/** The limits for a single schema from a client. */
const most: SchemaLimits = { length: 100_000, schemas: 2_000, patterns: 5_000 };

/** The limits for all schemas of one request together. */
const mostTogether: SchemaLimits = { length: 1_000_000, schemas: 10_000, patterns: 20_000 };

/**
 * Reads the JSON Schemas of one request, for tools and for answers. Returns each schema as JSON Schema 2020-12. Throws
 * `invalid_request`, which names the field, for a schema that is not usable or too large.
 */
export function createSchemaReader(): (schema: JsonSchema, field: string) => JsonSchema {
	const left = { ...mostTogether };
	return (schema, field) => {
		try {
			assertNotTooDeep(schema);
			const current = toCurrentDraft(schema);
			const { size } = compileSchema(current, {
				length: Math.min(most.length, left.length),
				schemas: Math.min(most.schemas, left.schemas),
				patterns: Math.min(most.patterns, left.patterns),
			});
			left.length -= size.length;
			left.schemas -= size.schemas;
			left.patterns -= size.patterns;
			return current;
		} catch (error) {
			throw new RunletError('invalid_request', `${field}: ${toMessageText(error)}.`, { field });
		}
	};
}

/** Keywords that do not restrict any value. */
const remarks: ReadonlySet<string> = new Set(['examples', 'example', '$comment', 'default', 'markdownDescription']);

/** The limits to which one step cuts a schema. */
interface Step {
	/** The maximum length of a description in characters. */
	readonly description: number;
	/** The maximum depth of schemas. Deeper schemas become `{}`. */
	readonly depth: number;
	/** The maximum number of values of an `enum`. A longer `enum` is left out. */
	readonly values: number;
}

const steps: readonly Step[] = [
	{ description: 300, depth: 32, values: 200 },
	{ description: 100, depth: 6, values: 50 },
	{ description: 60, depth: 4, values: 20 },
	{ description: 40, depth: 3, values: 20 },
	{ description: 0, depth: 2, values: 10 },
	{ description: 0, depth: 1, values: 0 },
];

/**
 * Cuts a schema to a number of characters for a model. Every valid value also fits the cut schema: examples are
 * dropped, descriptions are shortened, and deep parts become `{}`. The caller checks values against the whole schema.
 */
export function slimSchema(schema: JsonSchema, mostCharacters: number): JsonSchema {
	if (isWithin(schema, mostCharacters)) return schema;
	for (const step of steps) {
		const slim = cutSchema(schema, step, step.depth);
		if (isWithin(slim, mostCharacters)) return slim;
	}
	return { type: 'object' };
}

function isWithin(schema: JsonSchema, mostCharacters: number): boolean {
	return JSON.stringify(schema).length <= mostCharacters;
}

/** Dropped keywords. With looser inner schemas, keywords such as `not` would refuse valid values. */
const reversed = /^(not|if|then|else|contains|minContains|maxContains|unevaluated\w+|dependent\w+)$/;

function cutSchema(schema: JsonSchema, step: Step, depth: number): JsonSchema {
	// The target of a reference can be cut off, so references become `{}` from the second step on.
	const isShallow = step !== steps[0];
	if (depth <= 0 || (isShallow && (schema.$ref !== undefined || schema.$dynamicRef !== undefined))) return {};
	const kept = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
		if (remarks.has(keyword) || reversed.test(keyword)) return [];
		if (isShallow && (keyword === '$defs' || keyword === 'definitions')) return [];
		if (keyword === 'oneOf') return schema.anyOf === undefined ? [['anyOf', value]] : [];
		if (keyword === 'enum' && Array.isArray(value) && value.length > step.values) return [];
		if (keyword !== 'description' && keyword !== 'title') return [[keyword, value]];
		return typeof value === 'string' && step.description > 0 ? [[keyword, shorten(value, step.description)]] : [];
	});
	return mapInner(Object.fromEntries(kept), (inner) => cutSchema(inner, step, depth - 1));
}

function shorten(text: string, most: number): string {
	return text.length <= most ? text : `${truncateText(text, most - 1)}…`;
}
