/** A tool as a model was sent it. */
export interface SentTool {
	readonly name: string;
	readonly description?: string;
	readonly inputSchema?: unknown;
	/** Whether the tool came from an MCP server or from the owner, and not from the agent's code. */
	readonly isLoaded?: true;
}

/** What a model was sent besides the messages, and the agent's settings. Each field stands only where it changed. */
export interface Setup {
	readonly system?: string;
	readonly tools?: readonly SentTool[];
	readonly settings?: Readonly<Record<string, unknown>>;
}
