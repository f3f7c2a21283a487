import * as v from 'valibot';
import { hashSecurely } from '../base/bytes.ts';
import { sortNames } from '../base/json.ts';

const schema = v.record(v.string(), v.unknown());

/** The definition of a tool by its server. Hints such as `readOnlyHint` are dropped. */
export const toolDefinition = v.object({
	name: v.pipe(v.string(), v.minLength(1), v.maxLength(1_000)),
	description: v.optional(v.string()),
	inputSchema: schema,
	outputSchema: v.optional(schema),
});
export type ToolDefinition = v.InferOutput<typeof toolDefinition>;

export interface AcceptedTool {
	/** The SHA-256 of the definition as canonical JSON, in hexadecimal digits. */
	readonly hash: string;
	readonly definition: ToolDefinition;
}

/** Accepted tools by the server's own names. */
export type AcceptedTools = Readonly<Record<string, AcceptedTool>>;

/** The store of a server's accepted definitions. */
export interface Acceptance {
	read(): Promise<AcceptedTools>;
	accept(tools: AcceptedTools): Promise<void>;
}

export function inMemoryAcceptance(): Acceptance {
	const accepted = new Map<string, AcceptedTool>();
	return {
		read: async () => Object.fromEntries(accepted),
		accept: async (tools) => {
			for (const [name, tool] of Object.entries(tools)) accepted.set(name, tool);
		},
	};
}

/** Hashes a definition. The order of the names in its objects does not matter. */
export async function hashDefinition(definition: ToolDefinition): Promise<string> {
	const { name, description, inputSchema, outputSchema } = definition;
	return hashSecurely(JSON.stringify(sortNames({ name, description, inputSchema, outputSchema })));
}

/** A difference between two definitions: the field, and the beginnings of both values as JSON. */
export interface Difference {
	readonly field: string;
	readonly accepted: string;
	readonly offered: string;
}

const longestValue = 2_000;

/** Lists the fields in which a definition differs from the accepted definition. */
export function listDifferences(accepted: ToolDefinition, offered: ToolDefinition): readonly Difference[] {
	const fields = ['description', 'inputSchema', 'outputSchema'] as const;
	return fields.flatMap((field) => {
		const [before, after] = [toText(accepted[field]), toText(offered[field])];
		if (before === after) return [];
		return { field, accepted: before.slice(0, longestValue), offered: after.slice(0, longestValue) };
	});
}

function toText(value: unknown): string {
	return typeof value === 'string' ? value : (JSON.stringify(sortNames(value)) ?? '');
}
