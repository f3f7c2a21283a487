import { RunletError } from '../../../core/base/errors.ts';
import { define, type JsonSchema } from '../../../core/tool/index.ts';
import { createSchemaReader } from '../../../core/tool/json-schema/limits.ts';
import type { ClientTool } from '../run.ts';

export interface RequestedAgent {
	readonly name: string;
	/** The names of the agent's own tools in the form that providers get. */
	readonly toolNames: ReadonlySet<string>;
}

/** A tool of a request, and the paths of its name and its schema in the request. */
export interface RequestedTool {
	readonly name: string;
	readonly description?: string | null;
	readonly inputSchema?: JsonSchema | null;
	readonly namePath: string;
	readonly schemaPath: string;
}

/**
 * Returns the client's tools. Throws `invalid_request`, which names the field, if the agent has a tool of the same
 * name, if two tools have the same name, or if arguments cannot be checked against a schema.
 */
export function readTools(
	tools: readonly RequestedTool[],
	{ name: agent, toolNames: own }: RequestedAgent,
): readonly ClientTool[] {
	const seen = new Set<string>();
	const readSchema = createSchemaReader();
	return tools.map(({ name, description, inputSchema: schema, namePath, schemaPath }) => {
		if (own.has(name)) throw createRefusal(namePath, `${agent} has a tool with this name. Rename yours`);
		if (seen.has(name)) throw createRefusal(namePath, 'another of these tools has this name');
		seen.add(name);
		const inputSchema = readSchema(schema ?? { type: 'object', properties: {} }, schemaPath);
		assertOfObject(inputSchema, schemaPath);
		return { name, ...(description != null && { description }), inputSchema };
	});
}

/** Throws if a tool with this schema cannot be offered to a model. */
function assertOfObject(inputSchema: ClientTool['inputSchema'], field: string): void {
	try {
		define({ name: 'client', description: '', inputSchema });
	} catch {
		throw createRefusal(field, 'Expected a JSON Schema of an object, such as { "type": "object", "properties": {} }');
	}
}

function createRefusal(field: string, why: string): RunletError {
	return new RunletError('invalid_request', `${field}: ${why}.`, { field });
}
