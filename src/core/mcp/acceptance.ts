import * as v from 'valibot';
import { hashSecurely } from '../base/bytes.ts';
import { isRecord } from '../base/json.ts';

const schema = v.record(v.string(), v.unknown());

/** The definition of a tool by its server. Hints such as `readOnlyHint` are dropped. */
export const toolDefinition = v.object({
	name: v.pipe(v.string(), v.minLength(1), v.maxLength(1_000)),
	description: v.optional(v.string()),
	inputSchema: schema,
	outputSchema: v.optional(schema),
});
export type ToolDefinition = v.InferOutput<typeof toolDefinition>;

/** An accepted definition and its hash. */
export interface AcceptedTool {
	/** The SHA-256 of the definition as canonical JSON, in hexadecimal digits. */
	readonly hash: string;
	readonly definition: ToolDefinition;
}

/** Accepted tools by the server's own names. */
export type AcceptedTools = Readonly<Record<string, AcceptedTool>>;

/** The store of the accepted definitions of a server. */
export interface Acceptance {
	read(): Promise<AcceptedTools>;
	/** Adds definitions. */
	accept(tools: AcceptedTools): Promise<void>;
}

/** An acceptance in memory. */
export function inMemoryAcceptance(): Acceptance {
	const accepted = new Map<string, AcceptedTool>();
	return {
		read: async () => Object.fromEntries(accepted),
		accept: async (tools) => {
			for (const [name, tool] of Object.entries(tools)) accepted.set(name, tool);
		},
	};
}

/** Hashes a definition. The order of names in objects does not matter. */
export async function hashDefinition(definition: ToolDefinition): Promise<string> {
	const { name, description, inputSchema, outputSchema } = definition;
	return hashSecurely(JSON.stringify(sortNames({ name, description, inputSchema, outputSchema })));
}

/** A difference between two definitions: the field, and both values as JSON. */
export interface Difference {
	readonly field: string;
	readonly accepted: string;
	readonly offered: string;
}

/** The most characters of a value in a difference. */
const longestValue = 2_000;

/** Lists the fields in which a definition differs from the accepted one. */
export function listDifferences(accepted: ToolDefinition, offered: ToolDefinition): readonly Difference[] {
	const fields = ['description', 'inputSchema', 'outputSchema'] as const;
	return fields.flatMap((field) => {
		const [before, after] = [write(accepted[field]), write(offered[field])];
		return before === after
			? []
			: [{ field, accepted: before.slice(0, longestValue), offered: after.slice(0, longestValue) }];
	});
}

function write(value: unknown): string {
	return typeof value === 'string' ? value : (JSON.stringify(sortNames(value)) ?? '');
}

/** Sorts the names of objects at any depth, so that equal values have one text. */
function sortNames(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sortNames);
	if (!isRecord(value)) return value;
	const sorted = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
	return Object.fromEntries(sorted.map(([name, inner]) => [name, sortNames(inner)]));
}
