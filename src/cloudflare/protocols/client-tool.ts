/** A tool that the client carries out. Its calls stay open until the client posts their results. */
export interface ClientTool {
	readonly name: string;
	readonly description?: string;
	/** JSON Schema of its input. */
	readonly inputSchema: Readonly<Record<string, unknown>>;
}
