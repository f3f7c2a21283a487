import type { JsonSchema } from '../../../core/tool/index.ts';

/** The wishes of a client for a run besides its message. */
export interface RunTerms {
	/** The schema of the answer, which is then JSON. */
	readonly outputSchema?: JsonSchema;
	/** With `false` the client gets at most one call at a time. */
	readonly parallelToolCalls?: boolean;
}

/** A tool that the client carries out. Its calls stay open until the client posts their results. */
export interface ClientTool {
	readonly name: string;
	readonly description?: string;
	/** JSON Schema of its input. */
	readonly inputSchema: Readonly<Record<string, unknown>>;
}
