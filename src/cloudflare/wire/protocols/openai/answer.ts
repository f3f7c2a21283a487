import { RunletError } from '../../../../core/ground/errors.ts';
import type { JsonSchema } from '../../../../core/tool/index.ts';
import { createSchemaReader } from '../../../../core/tool/json-schema/limits.ts';
import type { CompletionRequest } from './schema.ts';

/** The form of the answer that a client asks for. */
export interface AnswerForm {
	/** The answer is JSON of this schema. */
	readonly outputSchema: JsonSchema | undefined;
	/** The answer ends before the first of these texts. */
	readonly stop: readonly string[];
}

/** Reads the form of a request's answer. Throws `invalid_request`, which names the field. */
export function readAnswerForm({
	response_format: format,
	stop: given,
}: Pick<CompletionRequest, 'response_format' | 'stop'>): AnswerForm {
	const stop = typeof given === 'string' ? [given] : (given ?? []);
	const outputSchema = readOutputSchema(format);
	if (outputSchema === undefined || stop.length === 0) return { outputSchema, stop };
	throw refuse('stop', 'would cut the JSON that response_format asks for. Leave one of them out');
}

function readOutputSchema(format: CompletionRequest['response_format']): JsonSchema | undefined {
	if (format === undefined || format === null || format.type === 'text') return undefined;
	const schema = format.type === 'json_schema' ? format.json_schema.schema : undefined;
	if (schema === undefined || schema === null) return { type: 'object' };
	return createSchemaReader()(schema, 'response_format.json_schema.schema');
}

function refuse(field: string, why: string): RunletError {
	return new RunletError('invalid_request', `${field}: ${why}.`, { field });
}
