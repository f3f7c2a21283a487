import * as v from 'valibot';
import { toMessageText } from '../ground/errors.ts';
import { createSchemaReader } from '../tool/json-schema/client-schema.ts';
import {
	type Acceptance,
	type AcceptedTool,
	type Difference,
	hashDefinition,
	listDifferences,
	type ToolDefinition,
	toolDefinition,
} from './acceptance.ts';
import type { Listed } from './link.ts';
import type { McpServer } from './server.ts';
import { createToolName } from './tool-name.ts';

/** The most tools of a server. */
const mostTools = 1_000;

/** The shortest time for which a list is kept, in milliseconds. */
const shortestTtlMs = 60_000;

/** The most sentences about what was left out. */
const mostReasons = 5;

/** The tools of a list that can be offered. */
export interface ReadDefinitions {
	readonly definitions: readonly ToolDefinition[];
	/** Milliseconds for which the list is kept. */
	readonly ttlMs: number;
	/** What was left out and why, in sentences. */
	readonly leftOut: readonly string[];
}

/** Reads a list of tools. Leaves out what is not allowed, and what no model can be offered. */
export function readDefinitions(server: McpServer, { tools, ttlMs, isWatched }: Listed): ReadDefinitions {
	const definitions = new Map<string, ToolDefinition>();
	const reasons: string[] = [];
	let readSchema = createSchemaReader();
	for (const [at, given] of tools.entries()) {
		const parsed = v.safeParse(toolDefinition, given);
		if (!parsed.success) {
			reasons.push(`Tool ${at + 1} of ${server.name} is malformed.`);
			continue;
		}
		const { name } = parsed.output;
		if (server.allow?.includes(name) === false) continue;
		const shown = createToolName(server, name);
		if (definitions.size === mostTools) {
			reasons.push(`${server.name} has more than ${mostTools} tools: name those that are needed in "allow".`);
			break;
		}
		if (definitions.has(shown)) {
			reasons.push(`${shown} is there twice: the first one counts.`);
			continue;
		}
		try {
			definitions.set(shown, readSchemas(parsed.output, readSchema));
		} catch (error) {
			reasons.push(`${shown} cannot be offered: ${toMessageText(error)}`);
		}
		// The limit of a reader is for one request. A list of many tools is read in portions.
		if (at % 50 === 49) readSchema = createSchemaReader();
	}
	const more = reasons.length > mostReasons ? [`And ${reasons.length - mostReasons} more.`] : [];
	return {
		definitions: [...definitions.values()],
		ttlMs: isWatched || ttlMs === undefined ? Number.POSITIVE_INFINITY : Math.max(ttlMs, shortestTtlMs),
		leftOut: [...reasons.slice(0, mostReasons), ...more],
	};
}

/** Checks the schemas. A tool whose outputs cannot be checked is offered without that. */
function readSchemas(given: ToolDefinition, readSchema: ReturnType<typeof createSchemaReader>): ToolDefinition {
	const { outputSchema, ...rest } = given;
	readSchema(rest.inputSchema, 'inputSchema');
	if (outputSchema === undefined) return rest;
	try {
		readSchema(outputSchema, 'outputSchema');
		return given;
	} catch {
		return rest;
	}
}

/** The definitions of a list, compared with the accepted ones. */
export interface AcceptedDefinitions {
	/** Those that are accepted, and the accepted ones of those that are not. */
	readonly usable: readonly ToolDefinition[];
	/** What differs, by the server's own names. */
	readonly changed: ReadonlyMap<string, readonly Difference[]>;
}

/** Accepts the definitions that are seen for the first time, and finds those that changed since they were accepted. */
export async function acceptDefinitions(
	acceptance: Acceptance,
	definitions: readonly ToolDefinition[],
): Promise<AcceptedDefinitions> {
	const accepted = await acceptance.read();
	// A name may be any text, even `__proto__`.
	const first = new Map<string, AcceptedTool>();
	const changed = new Map<string, readonly Difference[]>();
	const usable: ToolDefinition[] = [];
	for (const definition of definitions) {
		const { name } = definition;
		const hash = await hashDefinition(definition);
		const before = Object.hasOwn(accepted, name) ? accepted[name] : undefined;
		if (before === undefined) first.set(name, { hash, definition });
		else if (before.hash !== hash) changed.set(name, listDifferences(before.definition, definition));
		usable.push(before?.definition ?? definition);
	}
	if (first.size > 0) await acceptance.accept(Object.fromEntries(first));
	return { usable, changed };
}
