import { RunletError, toMessageText } from '../../ground/errors.ts';
import { assertNotTooDeep, compileSchema, type SchemaLimits } from './compile.ts';
import { toCurrentDraft } from './draft.ts';
import type { JsonSchema } from './keywords.ts';

/** The largest schema of a client. */
const most: SchemaLimits = { length: 100_000, schemas: 2_000, patterns: 5_000 };

/** The most of all schemas of one request together. */
const mostTogether: SchemaLimits = { length: 1_000_000, schemas: 10_000, patterns: 20_000 };

/**
 * Reads the JSON Schemas of one request, for tools and for answers. Returns each schema in the terms of 2020-12. Throws
 * `invalid_request`, with the field, for a schema that cannot be used, or that is so large that it would hold up
 * others.
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
