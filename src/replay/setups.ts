import type { Recording } from './recording.ts';

/** What a recorded model was sent besides the messages. A field is missing if the recording does not have it. */
export interface RecordedSetup {
	readonly system?: string;
	readonly tools?: readonly RecordedTool[];
	readonly settings?: Readonly<Record<string, unknown>>;
}

export interface RecordedTool {
	readonly name: string;
	readonly description?: string;
	readonly inputSchema?: unknown;
	/** Whether the tool came from an MCP server, from the owner or from a client. */
	readonly isLoaded?: true;
}

/** Finds the setup of each reply. A recording has the fields that changed. Returns the setups by message id. */
export function findSetups({ messages }: Recording): ReadonlyMap<string, RecordedSetup> {
	const setups = new Map<string, RecordedSetup>();
	let current: RecordedSetup = {};
	for (const { id, role, stored } of messages) {
		if (role !== 'assistant') continue;
		current = { ...current, ...stored?.setup };
		setups.set(id, current);
	}
	return setups;
}
