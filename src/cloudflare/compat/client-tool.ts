/** A tool that the client carries out: its calls are left open, and the client posts what they gave. */
export interface ClientTool {
	readonly name: string;
	readonly description?: string;
	/** JSON Schema of its input. */
	readonly inputSchema: Readonly<Record<string, unknown>>;
}
